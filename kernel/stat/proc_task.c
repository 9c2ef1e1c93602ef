/* The files of /proc/<pid>. Formats: proc(5). */
#include "proc_internal.h"

#include <arch.h>
#include <err.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <text.h>
#include <time.h>
#include <tty.h>
#include <uaccess.h>

#define ARGUMENTS_MAX 65536u

static char state_letter(const struct task *t)
{
	if (t->process->zombie && t == t->process->leader)
		return 'Z';
	switch ((enum task_state)t->state) {
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

static s32 parent_pid_of(const struct process *p)
{
	return p->parent ? p->parent->pid : 0;
}

static u32 ticks(u64 ns)
{
	return (u32)(ns / NSEC_PER_TICK);
}

static void signal_sets(const struct task *t, sigset *ignored, sigset *caught)
{
	*ignored = *caught = 0;
	for (int sig = 1; t->sighand && sig <= NSIG; sig++) {
		uaddr_t handler = t->sighand->action[sig - 1].handler;

		if (handler == SIG_IGN)
			*ignored |= SIGBIT(sig);
		else if (handler != SIG_DFL)
			*caught |= SIGBIT(sig);
	}
}

static void stat_show(struct text *out, struct task *t)
{
	struct process *p = t->process;
	const struct mm *mm = t->mm;
	struct usage usage;
	sigset ignored, caught;

	process_usage(p, &usage);
	signal_sets(t, &ignored, &caught);
	/* pid comm state ppid pgrp session tty tpgid flags, faults */
	text_printf(out, "%d (%s) %c %d %d %d %u %d 0 %u %u %u %u ", t->pid, t->name, state_letter(t), parent_pid_of(p), p->pgid,
		    p->sid, tty_number(p->sid), tty_foreground(p->sid), usage.minor_faults,
		    p->children_usage.minor_faults, usage.major_faults, p->children_usage.major_faults);
	/* utime stime cutime cstime priority nice threads itrealvalue starttime vsize rss rsslim */
	text_printf(out, "%u %u %u %u %d %d %u 0 %u %u %u %u ", ticks(usage.user_ns), ticks(usage.system_ns),
		    ticks(p->children_usage.user_ns), ticks(p->children_usage.system_ns), 20 + t->nice, t->nice,
		    p->thread_count, ticks(p->start_ns), mm ? mm->total_pages * PAGE_SIZE : 0, mm ? mm->resident_pages : 0,
		    p->rlimit[RLIMIT_RSS].soft);
	/* startcode endcode startstack kstkesp kstkeip signal blocked sigignore sigcatch wchan nswap cnswap exit_signal
	   processor rt_priority policy delays guest cguest start_data end_data start_brk arg and env bounds exit_code */
	text_printf(out, "%u %u %u 0 0 %u %u %u %u 0 0 0 %d 0 %u %u 0 0 0 %u %u %u %u %u %u %u %d\n", mm ? mm->code_start : 0,
		    mm ? mm->code_end : 0, mm ? mm->stack_start : 0, (u32)(t->pending.set & 0x7fffffff),
		    (u32)(t->blocked & 0x7fffffff), (u32)(ignored & 0x7fffffff), (u32)(caught & 0x7fffffff), p->exit_signal,
		    t->rt_priority, t->policy, mm ? mm->data_start : 0, mm ? mm->data_end : 0, mm ? mm->brk_start : 0,
		    mm ? mm->arguments_start : 0, mm ? mm->arguments_end : 0, mm ? mm->environment_start : 0,
		    mm ? mm->environment_end : 0, p->exit_status);
}

static u32 kilobytes(u32 pages)
{
	return pages * (PAGE_SIZE / 1024);
}

static u32 umask_of(const struct task *t)
{
	return t->fs ? t->fs->umask : 0;
}

static void status_show(struct text *out, struct task *t)
{
	const struct process *p = t->process;
	const struct credentials *c = &t->cred;
	const struct mm *mm = t->mm;
	char letter = state_letter(t);
	sigset ignored, caught;

	signal_sets(t, &ignored, &caught);
	text_printf(out, "Name:\t%s\nUmask:\t%04o\nState:\t%c (%s)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t%d\n",
		    t->name, umask_of(t), letter, state_word(letter), t->tgid, t->pid, parent_pid_of(p),
		    t->trace.tracer ? t->trace.tracer->pid : 0);
	text_printf(out, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\nFDSize:\t%u\nGroups:\t", c->uid, c->euid, c->suid,
		    c->fsuid, c->gid, c->egid, c->sgid, c->fsgid, t->files ? t->files->size : 0);
	for (u32 i = 0; i < c->group_count; i++)
		text_printf(out, "%u ", c->groups[i]);
	text_putc(out, '\n');
	if (mm)
		text_printf(out,
			    "VmPeak:\t%8u kB\nVmSize:\t%8u kB\nVmLck:\t%8u kB\nVmHWM:\t%8u kB\nVmRSS:\t%8u kB\nVmData:\t%8u kB\nVmPTE:\t%8u kB\n",
			    kilobytes(mm->total_pages), kilobytes(mm->total_pages),
			    kilobytes(mm_locked_pages(t->mm)), kilobytes(mm->resident_peak),
			    kilobytes(mm->resident_pages), (mm->brk - mm->brk_start) / 1024, kilobytes(mm->table_pages));
	text_printf(out, "Threads:\t%u\nSigQ:\t%u/%u\n", p->thread_count, signals_queued(c->uid),
		    p->rlimit[RLIMIT_SIGPENDING].soft);
	text_printf(out, "SigPnd:\t%016llx\nShdPnd:\t%016llx\nSigBlk:\t%016llx\nSigIgn:\t%016llx\nSigCgt:\t%016llx\n",
		    t->pending.set, p->pending.set, t->blocked, ignored, caught);
	text_printf(out,
		    "Cpus_allowed:\t1\nCpus_allowed_list:\t0\nvoluntary_ctxt_switches:\t%u\nnonvoluntary_ctxt_switches:\t%u\n",
		    t->voluntary_switches, t->involuntary_switches);
}

static void statm_show(struct text *out, struct task *t)
{
	const struct mm *mm = t->mm;
	u32 code = mm ? (mm->code_end - mm->code_start + PAGE_SIZE - 1) / PAGE_SIZE : 0;
	u32 data = mm ? (mm->brk - mm->brk_start + PAGE_SIZE - 1) / PAGE_SIZE : 0;

	text_printf(out, "%u %u 0 %u 0 %u 0\n", mm ? mm->total_pages : 0, mm ? mm->resident_pages : 0, code, data);
}

/* Shows a range of the process's memory unchanged. */
static void memory_show(struct text *out, struct mm *mm, uaddr_t start, uaddr_t end)
{
	char piece[256];

	end = MIN(end, start + ARGUMENTS_MAX);
	while (start < end) {
		u32 n = MIN(end - start, (u32)sizeof(piece));

		if (mm_copy_from(mm, piece, start, n))
			return;
		text_write(out, piece, n);
		start += n;
	}
}

/* The reference keeps the address space, which may lose its process while memory is faulted in. */
static void arguments_show(struct text *out, struct task *t, bool environment)
{
	struct mm *mm = t->mm;

	if (!mm)
		return;
	mm_get(mm);
	if (environment)
		memory_show(out, mm, mm->environment_start, mm->environment_end);
	else
		memory_show(out, mm, mm->arguments_start, mm->arguments_end);
	mm_put(mm);
}

static void cmdline_show(struct text *out, struct task *t)
{
	arguments_show(out, t, false);
}

static void environ_show(struct text *out, struct task *t)
{
	arguments_show(out, t, true);
}

static void auxv_show(struct text *out, struct task *t)
{
	if (t->mm)
		text_write(out, (const char *)t->mm->auxv, t->mm->auxv_count * sizeof(t->mm->auxv[0]));
}

static void comm_show(struct text *out, struct task *t)
{
	text_printf(out, "%s\n", t->name);
}

static int comm_store(struct task *t, const char *name, size_t size)
{
	if (size && name[size - 1] == '\n')
		size--;
	size = MIN(size, (size_t)TASK_NAME_SIZE - 1);
	memcpy(t->name, name, size);
	t->name[size] = 0;
	return 0;
}

static void maps_show(struct text *out, struct task *t)
{
	if (t->mm)
		mm_show_maps(t->mm, out);
}

static void mounts_of_show(struct text *out, struct task *t)
{
	(void)t;
	mounts_show(out);
}

static void mountinfo_of_show(struct text *out, struct task *t)
{
	(void)t;
	mountinfo_show(out);
}

static void limits_show(struct text *out, struct task *t)
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
		const struct rlimit *r = &t->process->rlimit[i];
		char soft[12] = "unlimited", hard[12] = "unlimited";

		if (r->soft != RLIM_INFINITY)
			snprintf(soft, sizeof(soft), "%u", r->soft);
		if (r->hard != RLIM_INFINITY)
			snprintf(hard, sizeof(hard), "%u", r->hard);
		text_printf(out, "%-25s %-20s %-20s %-10s\n", names[i].name, soft, hard, names[i].unit);
	}
}

static int exe_link(struct task *t, struct dentry **out)
{
	const struct file *f = t->mm ? t->mm->executable : NULL;

	if (!f)
		return -ENOENT;
	*out = dentry_get(f->dentry);
	return 0;
}

static int cwd_link(struct task *t, struct dentry **out)
{
	if (!t->fs)
		return -ENOENT;
	*out = dentry_get(t->fs->cwd);
	return 0;
}

static int root_link(struct task *t, struct dentry **out)
{
	if (!t->fs)
		return -ENOENT;
	*out = dentry_get(t->fs->root);
	return 0;
}

#define FILE_MODE (S_IFREG | 0444)

const struct proc_entry proc_entries[] = {
	{ .name = "auxv", .mode = S_IFREG | 0400, .show = auxv_show },
	{ .name = "cmdline", .mode = FILE_MODE, .show = cmdline_show },
	{ .name = "comm", .mode = S_IFREG | 0644, .show = comm_show, .store = comm_store },
	{ .name = "cwd", .mode = S_IFLNK | 0777, .link = cwd_link },
	{ .name = "environ", .mode = S_IFREG | 0400, .show = environ_show },
	{ .name = "exe", .mode = S_IFLNK | 0777, .link = exe_link },
	{ .name = "limits", .mode = FILE_MODE, .show = limits_show },
	{ .name = "maps", .mode = FILE_MODE, .show = maps_show },
	{ .name = "mountinfo", .mode = FILE_MODE, .show = mountinfo_of_show },
	{ .name = "mounts", .mode = FILE_MODE, .show = mounts_of_show },
	{ .name = "root", .mode = S_IFLNK | 0777, .link = root_link },
	{ .name = "stat", .mode = FILE_MODE, .show = stat_show },
	{ .name = "statm", .mode = FILE_MODE, .show = statm_show },
	{ .name = "status", .mode = FILE_MODE, .show = status_show },
};
const unsigned proc_entry_count = ARRAY_SIZE(proc_entries);
