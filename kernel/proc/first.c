/* The first process: its limits, its files, and its program. */
#include <arch.h>
#include <err.h>
#include <file.h>
#include <fs.h>
#include <lib.h>
#include <process.h>
#include <task.h>

#include "../task/internal.h"

static const struct rlimit initial_limits[RLIMIT_COUNT] = {
	[RLIMIT_CPU] = { RLIM_INFINITY, RLIM_INFINITY },
	[RLIMIT_FSIZE] = { RLIM_INFINITY, RLIM_INFINITY },
	[RLIMIT_DATA] = { RLIM_INFINITY, RLIM_INFINITY },
	[RLIMIT_STACK] = { 8u << 20, RLIM_INFINITY },
	[RLIMIT_CORE] = { 0, RLIM_INFINITY },
	[RLIMIT_RSS] = { RLIM_INFINITY, RLIM_INFINITY },
	[RLIMIT_NPROC] = { 1024, 1024 },
	[RLIMIT_NOFILE] = { 1024, 4096 },
	[RLIMIT_MEMLOCK] = { 8u << 20, 8u << 20 },
	[RLIMIT_AS] = { RLIM_INFINITY, RLIM_INFINITY },
	[RLIMIT_LOCKS] = { RLIM_INFINITY, RLIM_INFINITY },
	[RLIMIT_SIGPENDING] = { 1024, 1024 },
	[RLIMIT_MSGQUEUE] = { 819200, 819200 },
	[RLIMIT_NICE] = { 0, 0 },
	[RLIMIT_RTPRIO] = { 0, 0 },
	[RLIMIT_RTTIME] = { RLIM_INFINITY, RLIM_INFINITY },
};

#define INIT_ARGUMENTS_MAX 32

struct init_arguments {
	const char *path;
	const char *argv[INIT_ARGUMENTS_MAX + 2];
};

/* Opens descriptors 0 to 2, if the initramfs has the device. */
static void open_console(void)
{
	struct file *console = file_open("/dev/console", O_RDWR, 0);

	if (IS_ERR(console)) {
		printk("pagewalk: initramfs: no /dev/console, so the first process starts without files\n");
		return;
	}
	for (int fd = 0; fd < 3; fd++) {
		if (fd_add(file_get(console), false) != fd)
			fatal(EXIT_MEMORY, "first process: no memory for its files");
	}
	file_put(console);
}

/* The kernel part of the first process, before its program starts. */
static void run_init(void *argument)
{
	static const char *const environment[] = {
		"HOME=/", "PATH=/sbin:/usr/sbin:/bin:/usr/bin", "TERM=linux", NULL
	};
	const struct init_arguments *init = argument;
	const char *reason = NULL;
	int error;

	open_console();
	error = exec_kernel(init->path, init->argv, environment, &reason);
	if (error)
		fatal(EXIT_NO_INIT, "%s: cannot be run: %s (error %d)", init->path,
		      reason ? reason : "not usable as a program", -error);
}

void start_init(const char *path, const char *const *arguments)
{
	static struct init_arguments init;
	struct process *process = process_new();
	struct task *task = process ? task_new(process) : NULL;

	if (!task)
		fatal(EXIT_MEMORY, "first process: no memory");
	init.path = init.argv[0] = path;
	for (u32 i = 0; arguments && arguments[i]; i++) {
		if (i == INIT_ARGUMENTS_MAX)
			fatal(EXIT_COMMAND_LINE, "command line: more than %d arguments for %s", INIT_ARGUMENTS_MAX, path);
		init.argv[i + 1] = arguments[i];
	}
	task->timer_slack = task->default_slack = TIMER_SLACK_NS;
	trampoline_init();
	memcpy(process->rlimit, initial_limits, sizeof(initial_limits));
	process->parent = &idle_process;
	process->leader = task;
	task->files = files_new();
	task->fs = fs_context_new();
	task->sighand = sighand_new(NULL);
	if (!task->files || !task->fs || !task->sighand)
		fatal(EXIT_MEMORY, "first process: no memory");
	list_add_tail(&process->all, &process_list);
	process_count++;
	task_publish(task, process->pid);
	init_process = process;
	arch_task_start(task, run_init, &init);
	sched_start(task);
}
