/* The files of /proc/<pid>. Formats: proc(5). */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <filesystem.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <text.h>
#include <time.h>
#include <tty.h>
#include <uaccess.h>
#include <window.h>

#include "proc_internal.h"

#define ARGUMENTS_MAX 65536u

static char state_letter(const struct task *task)
{
	if (task->process->zombie && task == task->process->leader)
		return 'Z';
	switch ((enum task_state)task->state) {
	case TASK_RUNNING:
		return 'R';
	case TASK_INTERRUPTIBLE:
	case TASK_KILLABLE:
		return 'S';
	case TASK_UNINTERRUPTIBLE:
		return 'D';
	case TASK_STOPPED:
		return 'T';
	case TASK_TRACED:
		return 't';
	case TASK_DEAD:
		break;
	}
	return 'X';
}

static const char *state_word(char letter)
{
	switch (letter) {
	case 'R':
		return "running";
	case 'S':
		return "sleeping";
	case 'D':
		return "disk sleep";
	case 'T':
		return "stopped";
	case 't':
		return "tracing stop";
	case 'Z':
		return "zombie";
	}
	return "dead";
}

static s32 parent_pid_of(const struct process *process)
{
	return process->parent ? process->parent->pid : 0;
}

static u32 ns_to_ticks(u64 ns)
{
	return (u32)(ns / NSEC_PER_TICK);
}

static void signal_sets(const struct task *task, sigset *ignored, sigset *caught)
{
	*ignored = *caught = 0;
	for (int sig = 1; task->sighand && sig <= NSIG; sig++) {
		uaddr_t handler = task->sighand->action[sig - 1].handler;

		if (handler == SIG_IGN)
			*ignored |= SIGBIT(sig);
		else if (handler != SIG_DFL)
			*caught |= SIGBIT(sig);
	}
}

static void stat_show(struct text *out, struct task *task)
{
	struct process *process = task->process;
	const struct mm *mm = task->mm;
	static const struct mm_program unseen;
	const struct mm_program *program = mm && may_trace(task) ? &mm->program : &unseen;
	struct usage usage;
	sigset ignored, caught;

	process_usage(process, &usage);
	signal_sets(task, &ignored, &caught);
	/* pid comm state ppid pgrp session tty tpgid flags, faults */
	text_printf(out, "%d (%s) %c %d %d %d %u %d 0 %u %u %u %u ", task->pid, task->name, state_letter(task),
		    parent_pid_of(process), process->pgid,
		    process->sid, tty_number(process->sid), tty_foreground(process->sid), usage.minor_faults,
		    process->children_usage.minor_faults, usage.major_faults, process->children_usage.major_faults);
	/* utime stime cutime cstime priority nice threads itrealvalue starttime vsize rss rsslim */
	text_printf(out, "%u %u %u %u %d %d %u 0 %u %u %u %u ", ns_to_ticks(usage.user_ns),
		    ns_to_ticks(usage.system_ns),
		    ns_to_ticks(process->children_usage.user_ns), ns_to_ticks(process->children_usage.system_ns),
		    20 + task->nice, task->nice,
		    process->thread_count, ns_to_ticks(process->start_ns), mm ? mm->total_pages * PAGE_SIZE : 0,
		    mm ? mm->resident_pages : 0,
		    process->rlimit[RLIMIT_RSS].soft);
	/*
	 * startcode endcode startstack kstkesp kstkeip signal blocked sigignore sigcatch wchan nswap cnswap exit_signal
	 * processor rt_priority policy delays guest cguest start_data end_data start_brk arg and env bounds exit_code
	 */
	text_printf(out, ADDRESS_NUMBER " " ADDRESS_NUMBER " " ADDRESS_NUMBER " 0 0 %u %u %u %u 0 0 0 %d 0 %u %u 0 0 0 "
		    ADDRESS_NUMBER " " ADDRESS_NUMBER " " ADDRESS_NUMBER " " ADDRESS_NUMBER " " ADDRESS_NUMBER " "
		    ADDRESS_NUMBER " " ADDRESS_NUMBER " %d\n",
		    program->code_start, program->code_end, program->stack_start, (u32)(task->pending.set & 0x7fffffff),
		    (u32)(task->blocked & 0x7fffffff), (u32)(ignored & 0x7fffffff), (u32)(caught & 0x7fffffff),
		    process->exit_signal, task->rt_priority, task->policy, program->data_start, program->data_end,
		    program->brk_start, program->arguments_start, program->arguments_end, program->environment_start,
		    program->environment_end, process->exit_status);
}

static u32 pages_to_kilobytes(u32 pages)
{
	return pages * (PAGE_SIZE / 1024);
}

static u32 umask_of(const struct task *task)
{
	return task->fs ? task->fs->umask : 0;
}

static void status_show(struct text *out, struct task *task)
{
	struct mm *mm = task->mm;
	s32 pid = task->pid;
	const struct process *process;
	const struct credentials *c;
	u32 cpus, locked = 0;
	char letter;
	sigset ignored, caught;

	/* Other tasks run meanwhile, and this one may end: it is looked up again. */
	if (mm) {
		mm_get(mm);
		locked = mm_locked_pages(mm);
		mm_put(mm);
		task = task_find(pid);
		if (!task)
			return;
		mm = task->mm;
	}
	process = task->process;
	c = &task->cred;
	cpus = task->affinity & ((1u << cpu_count) - 1);
	letter = state_letter(task);
	messages_account();
	signal_sets(task, &ignored, &caught);
	text_printf(out,
		    "Name:\t%s\nUmask:\t%04o\nState:\t%c (%s)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\n"
		    "TracerPid:\t%d\n",
		    task->name, umask_of(task), letter, state_word(letter), task->tgid, task->pid,
		    parent_pid_of(process),
		    task->trace.tracer ? task->trace.tracer->pid : 0);
	text_printf(out, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nFDSize:\t%u\nGroups:\t", c->uid, c->euid, c->suid,
		    c->fsuid, c->gid, c->egid, c->sgid, c->fsgid, task->files ? task->files->size : 0);
	for_each_window(i, 0, i < group_count(c))
		text_printf(out, "%u ", c->groups->id[i]);
	text_putc(out, '\n');
	if (mm)
		text_printf(out,
			    "VmPeak:\t%8u kB\nVmSize:\t%8u kB\nVmLck:\t%8u kB\nVmHWM:\t%8u kB\nVmRSS:\t%8u kB\n"
			    "VmData:\t%8u kB\nVmPTE:\t%8u kB\n",
			    pages_to_kilobytes(mm->total_pages), pages_to_kilobytes(mm->total_pages),
			    pages_to_kilobytes(locked), pages_to_kilobytes(mm_resident_peak(mm)),
			    pages_to_kilobytes(mm->resident_pages),
			    (u32)((mm->program.brk - mm->program.brk_start) / 1024),
			    pages_to_kilobytes(mm->table_pages));
	text_printf(out, "Threads:\t%u\nSigQ:\t%u/%u\n", process->thread_count, signals_queued(c->uid),
		    process->rlimit[RLIMIT_SIGPENDING].soft);
	text_printf(out, "SigPnd:\t%016llx\nShdPnd:\t%016llx\nSigBlk:\t%016llx\nSigIgn:\t%016llx\nSigCgt:\t%016llx\n",
		    task->pending.set, process->pending.set, task->blocked, ignored, caught);
	text_printf(out, "Cpus_allowed:\t%x\nCpus_allowed_list:\t", cpus);
	text_cpus(out, cpus);
	text_printf(out, "\nvoluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t%u\n",
		    task->voluntary_switches, task->involuntary_switches);
}

static void statm_show(struct text *out, struct task *task)
{
	const struct mm *mm = task->mm;
	u32 code = mm ? page_count(mm->program.code_end - mm->program.code_start + PAGE_SIZE - 1) : 0;
	u32 data = mm ? page_count(mm->program.brk - mm->program.brk_start + PAGE_SIZE - 1) : 0;

	text_printf(out, "%u %u 0 %u 0 %u 0\n", mm ? mm->total_pages : 0, mm ? mm->resident_pages : 0, code, data);
}

/* Shows a range of the process's memory unchanged. */
static void memory_show(struct text *out, struct mm *mm, uaddr_t start, uaddr_t end)
{
	char piece[256];

	end = MIN(end, start + ARGUMENTS_MAX);
	while (start < end) {
		size_t n = MIN(end - start, (uaddr_t)sizeof(piece));

		if (mm_copy_from(mm, piece, start, n))
			return;
		text_write(out, piece, n);
		start += n;
	}
}

/* Holds a reference to the address space: the process may end while memory is faulted in. */
static void arguments_show(struct text *out, struct task *task, bool environment)
{
	struct mm *mm = task->mm;

	if (!mm)
		return;
	mm_get(mm);
	if (environment)
		memory_show(out, mm, mm->program.environment_start, mm->program.environment_end);
	else
		memory_show(out, mm, mm->program.arguments_start, mm->program.arguments_end);
	mm_put(mm);
}

static void cmdline_show(struct text *out, struct task *task)
{
	arguments_show(out, task, false);
}

static void environ_show(struct text *out, struct task *task)
{
	arguments_show(out, task, true);
}

static void auxv_show(struct text *out, struct task *task)
{
	if (task->mm)
		text_write(out, (const char *)task->mm->program.auxv, task->mm->program.auxv_count * sizeof(u32));
}

static void comm_show(struct text *out, struct task *task)
{
	text_printf(out, "%s\n", task->name);
}

static int comm_store(struct task *task, const char *name, size_t size)
{
	if (task->process != current->process)
		return -EINVAL;
	if (size && name[size - 1] == '\n')
		size--;
	size = MIN(size, (size_t)TASK_NAME_SIZE - 1);
	memcpy(task->name, name, size);
	task->name[size] = 0;
	return 0;
}

static void maps_show(struct text *out, struct task *task)
{
	struct mm *mm = task->mm;

	if (!mm)
		return;
	mm_get(mm);
	mm_show_maps(mm, out);
	mm_put(mm);
}

static void mounts_of_show(struct text *out, struct task *task)
{
	(void)task;
	mounts_show(out);
}

static void mountinfo_of_show(struct text *out, struct task *task)
{
	(void)task;
	mountinfo_show(out);
}

static void limits_show(struct text *out, struct task *task)
{
	static const struct {
		const char *name, *unit;
	} names[RLIMIT_COUNT] = {
		[RLIMIT_CPU] = { "Max cpu time", "seconds" },
		[RLIMIT_FSIZE] = { "Max file size", "bytes" },
		[RLIMIT_DATA] = { "Max data size", "bytes" },
		[RLIMIT_STACK] = { "Max stack size", "bytes" },
		[RLIMIT_CORE] = { "Max core file size", "bytes" },
		[RLIMIT_RSS] = { "Max resident set", "bytes" },
		[RLIMIT_NPROC] = { "Max processes", "processes" },
		[RLIMIT_NOFILE] = { "Max open files", "files" },
		[RLIMIT_MEMLOCK] = { "Max locked memory", "bytes" },
		[RLIMIT_AS] = { "Max address space", "bytes" },
		[RLIMIT_LOCKS] = { "Max file locks", "locks" },
		[RLIMIT_SIGPENDING] = { "Max pending signals", "signals" },
		[RLIMIT_MSGQUEUE] = { "Max msgqueue size", "bytes" },
		[RLIMIT_NICE] = { "Max nice priority", "" },
		[RLIMIT_RTPRIO] = { "Max realtime priority", "" },
		[RLIMIT_RTTIME] = { "Max realtime timeout", "us" },
	};

	text_printf(out, "%-25s %-20s %-20s %-10s\n", "Limit", "Soft Limit", "Hard Limit", "Units");
	for (u32 i = 0; i < RLIMIT_COUNT; i++) {
		const struct rlimit *r = &task->process->rlimit[i];
		char soft[12] = "unlimited", hard[12] = "unlimited";

		if (r->soft != RLIM_INFINITY)
			snprintf(soft, sizeof(soft), "%u", r->soft);
		if (r->hard != RLIM_INFINITY)
			snprintf(hard, sizeof(hard), "%u", r->hard);
		text_printf(out, "%-25s %-20s %-20s %-10s\n", names[i].name, soft, hard, names[i].unit);
	}
}

static int exe_link(struct task *task, struct dentry **out)
{
	const struct file *file = task->mm ? task->mm->executable : NULL;

	if (!file)
		return -ENOENT;
	*out = dentry_get(file->dentry);
	return 0;
}

static int cwd_link(struct task *task, struct dentry **out)
{
	if (!task->fs)
		return -ENOENT;
	*out = dentry_get(task->fs->cwd);
	return 0;
}

static int root_link(struct task *task, struct dentry **out)
{
	if (!task->fs)
		return -ENOENT;
	*out = dentry_get(task->fs->root);
	return 0;
}

#define FILE_MODE (S_IFREG | 0444)

const struct proc_entry proc_entries[] = {
	{ .name = "auxv", .mode = S_IFREG | 0400, .show = auxv_show, .is_private = true },
	{ .name = "cmdline", .mode = FILE_MODE, .show = cmdline_show },
	{ .name = "comm", .mode = S_IFREG | 0644, .show = comm_show, .store = comm_store },
	{ .name = "cwd", .mode = S_IFLNK | 0777, .link = cwd_link },
	{ .name = "environ", .mode = S_IFREG | 0400, .show = environ_show, .is_private = true },
	{ .name = "exe", .mode = S_IFLNK | 0777, .link = exe_link },
	{ .name = "limits", .mode = FILE_MODE, .show = limits_show },
	{ .name = "maps", .mode = FILE_MODE, .show = maps_show, .is_private = true },
	{ .name = "mountinfo", .mode = FILE_MODE, .show = mountinfo_of_show },
	{ .name = "mounts", .mode = FILE_MODE, .show = mounts_of_show },
	{ .name = "root", .mode = S_IFLNK | 0777, .link = root_link },
	{ .name = "stat", .mode = FILE_MODE, .show = stat_show },
	{ .name = "statm", .mode = FILE_MODE, .show = statm_show },
	{ .name = "status", .mode = FILE_MODE, .show = status_show },
};
const unsigned proc_entry_count = ARRAY_SIZE(proc_entries);
