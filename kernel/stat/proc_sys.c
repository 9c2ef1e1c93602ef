/* /proc/sys: names and limits that programs look up. All files are read-only. */
#include <arch.h>
#include <file.h>
#include <inotify.h>
#include <ipc.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <procfs.h>
#include <uname.h>

#include "../dev/pty.h"
#include "../ipc/ring.h"
#include "../ipc/socket.h"
#include "../ipc/sysv.h"
#include "proc_internal.h"

#define NAME(subject, field_number) \
	static void show_##subject(struct text *t) { text_printf(t, "%s\n", uts.field[field_number]); }
NAME(ostype, UTS_SYSNAME)
NAME(osrelease, UTS_RELEASE)
NAME(version, UTS_VERSION)
NAME(hostname, UTS_NODENAME)
NAME(domainname, UTS_DOMAINNAME)

/* The files that hold one number: path, name of the function that shows it, value. */
#define LIMITS(LIMIT) \
	LIMIT("kernel/core_uses_pid", core_uses_pid, 0) \
	LIMIT("kernel/pid_max", pid_max, PID_MAX) \
	LIMIT("kernel/threads-max", threads_max, PID_MAX) \
	LIMIT("kernel/ngroups_max", ngroups_max, NGROUPS_MAX) \
	LIMIT("kernel/tainted", tainted, 0) \
	LIMIT("kernel/cap_last_cap", cap_last_cap, CAPABILITY_LAST) \
	LIMIT("kernel/shmall", shmall, USER_END / PAGE_SIZE) \
	LIMIT("kernel/shmmax", shmmax, USER_END) \
	LIMIT("kernel/shmmni", shmmni, SYSV_SLOTS_MAX) \
	LIMIT("kernel/msgmax", msgmax, SYSV_MESSAGE_MAX) \
	LIMIT("kernel/msgmnb", msgmnb, SYSV_QUEUE_BYTES) \
	LIMIT("kernel/msgmni", msgmni, SYSV_SLOTS_MAX) \
	LIMIT("kernel/pty/max", pty_max, PTY_MAX) \
	LIMIT("fs/nr_open", nr_open, FILES_MAX) \
	LIMIT("fs/file-max", file_max, frame_count) \
	LIMIT("fs/pipe-max-size", pipe_max_size, RING_PAGES_MAX * PAGE_SIZE) \
	LIMIT("fs/inotify/max_queued_events", inotify_max_queued_events, INOTIFY_EVENTS_MAX) \
	LIMIT("fs/inotify/max_user_watches", inotify_max_user_watches, INOTIFY_WATCHES_MAX) \
	LIMIT("fs/inotify/max_user_instances", inotify_max_user_instances, INOTIFY_INSTANCES_MAX) \
	LIMIT("fs/epoll/max_user_watches", epoll_max_user_watches, epoll_items_most()) \
	LIMIT("fs/mqueue/queues_max", mqueues_max, MQUEUES_MAX) \
	LIMIT("fs/mqueue/msg_max", mqueue_count, MQUEUE_COUNT_DEFAULT) \
	LIMIT("fs/mqueue/msgsize_max", mqueue_size, MQUEUE_SIZE_DEFAULT) \
	LIMIT("vm/max_map_count", max_map_count, AREAS_MAX) \
	LIMIT("vm/overcommit_memory", overcommit_memory, 0) \
	LIMIT("net/core/somaxconn", core_somaxconn, SOCKET_BACKLOG_MAX)
#define DEFINE_LIMIT(path, subject, value) \
	static void show_##subject(struct text *t) { text_printf(t, "%u\n", (u32)(value)); }
#define LIMIT_FILE(path, subject, value) { "sys/" path, show_##subject },

LIMITS(DEFINE_LIMIT)

/* Semaphores: in a set, in all, operations of one call, sets. */
static void show_sem_limits(struct text *text)
{
	text_printf(text, "%u\t%u\t%u\t%u\n", SYSV_PER_SET_MAX, SYSV_PER_SET_MAX * SYSV_SLOTS_MAX, SYSV_OPERATIONS_MAX,
		    SYSV_SLOTS_MAX);
}

/* core(5): the name of a core file. */
static void show_core_pattern(struct text *text)
{
	text_puts(text, CORE_NAME "\n");
}

static void show_pty_nr(struct text *text)
{
	text_printf(text, "%u\n", pty_count);
}

void proc_sys_init(void)
{
	static const struct {
		const char *path;
		void (*show)(struct text *);
	} files[] = {
		{ "sys/kernel/ostype", show_ostype },
		{ "sys/kernel/osrelease", show_osrelease },
		{ "sys/kernel/version", show_version },
		{ "sys/kernel/hostname", show_hostname },
		{ "sys/kernel/domainname", show_domainname },
		{ "sys/kernel/sem", show_sem_limits },
		{ "sys/kernel/core_pattern", show_core_pattern },
		{ "sys/kernel/pty/nr", show_pty_nr },
		LIMITS(LIMIT_FILE)
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		proc_file(files[i].path, files[i].show, NULL);
}
