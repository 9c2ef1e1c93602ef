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
#define LIMIT(subject, value) \
	static void show_##subject(struct text *t) { text_printf(t, "%u\n", (u32)(value)); }

NAME(ostype, UTS_SYSNAME)
NAME(osrelease, UTS_RELEASE)
NAME(version, UTS_VERSION)
NAME(hostname, UTS_NODENAME)
NAME(domainname, UTS_DOMAINNAME)
LIMIT(pid_max, PID_MAX)
LIMIT(ngroups_max, NGROUPS_MAX)
LIMIT(zero, 0)
LIMIT(cap_last_cap, CAPABILITY_LAST)
LIMIT(shmall, USER_END / PAGE_SIZE)
LIMIT(shmmax, USER_END)
LIMIT(shmmni, SYSV_SLOTS_MAX)
LIMIT(msgmax, SYSV_MESSAGE_MAX)
LIMIT(msgmnb, SYSV_QUEUE_BYTES)
LIMIT(msgmni, SYSV_SLOTS_MAX)
LIMIT(pty_max, PTY_MAX)
LIMIT(nr_open, FILES_MAX)
LIMIT(file_max, frame_count)
LIMIT(pipe_max_size, RING_PAGES_MAX * PAGE_SIZE)
LIMIT(inotify_max_queued_events, INOTIFY_EVENTS_MAX)
LIMIT(inotify_max_user_watches, INOTIFY_WATCHES_MAX)
LIMIT(inotify_max_user_instances, INOTIFY_INSTANCES_MAX)
LIMIT(epoll_max_user_watches, epoll_items_most())
LIMIT(max_map_count, AREAS_MAX)
LIMIT(mqueues_max, MQUEUES_MAX)
LIMIT(mqueue_count, MQUEUE_COUNT_DEFAULT)
LIMIT(mqueue_size, MQUEUE_SIZE_DEFAULT)
LIMIT(core_somaxconn, SOCKET_BACKLOG_MAX)

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
		{ "sys/kernel/core_uses_pid", show_zero },
		{ "sys/kernel/pty/nr", show_pty_nr },
		{ "sys/kernel/pid_max", show_pid_max },
		{ "sys/kernel/threads-max", show_pid_max },
		{ "sys/kernel/ngroups_max", show_ngroups_max },
		{ "sys/kernel/tainted", show_zero },
		{ "sys/kernel/cap_last_cap", show_cap_last_cap },
		{ "sys/kernel/shmall", show_shmall },
		{ "sys/kernel/shmmax", show_shmmax },
		{ "sys/kernel/shmmni", show_shmmni },
		{ "sys/kernel/msgmax", show_msgmax },
		{ "sys/kernel/msgmnb", show_msgmnb },
		{ "sys/kernel/msgmni", show_msgmni },
		{ "sys/kernel/pty/max", show_pty_max },
		{ "sys/fs/nr_open", show_nr_open },
		{ "sys/fs/file-max", show_file_max },
		{ "sys/fs/pipe-max-size", show_pipe_max_size },
		{ "sys/fs/inotify/max_queued_events", show_inotify_max_queued_events },
		{ "sys/fs/inotify/max_user_watches", show_inotify_max_user_watches },
		{ "sys/fs/inotify/max_user_instances", show_inotify_max_user_instances },
		{ "sys/fs/epoll/max_user_watches", show_epoll_max_user_watches },
		{ "sys/fs/mqueue/queues_max", show_mqueues_max },
		{ "sys/fs/mqueue/msg_max", show_mqueue_count },
		{ "sys/fs/mqueue/msgsize_max", show_mqueue_size },
		{ "sys/vm/max_map_count", show_max_map_count },
		{ "sys/vm/overcommit_memory", show_zero },
		{ "sys/net/core/somaxconn", show_core_somaxconn },
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		proc_file(files[i].path, files[i].show, NULL);
}
