/* Out of memory: chooses a process and kills it, but never init. */
#include <arch.h>
#include <errno.h>
#include <file.h>
#include <frame.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <signal.h>
#include <task.h>
#include <time.h>
#include <wait.h>
#include <window.h>

#include "internal.h"

#define INIT_PID 1

u32 oom_ended;

/*
 * Bytes of a file without a name, such as a shared anonymous mapping's, that the area keeps, mapped or not. The areas
 * of one file share them equally.
 */
static u32 nameless_bytes(const struct vma *vma)
{
	const struct inode *inode = vma->inode;

	if (!inode || inode->nlink || inode->lasting)
		return 0;
	return inode->page_count * PAGE_SIZE / (vma->file ? vma->file->refs : inode->refs);
}

/* Pages that the address space's end would free. A nameless file's page that is also mapped is counted once. */
static u32 pages_of_space(struct mm *mm)
{
	struct vma *vma;
	u64 nameless = 0;

	for_each_area_window(vma, mm, 0, USER_END)
		nameless += nameless_bytes(vma);
	return MAX(mm->resident_pages, (u32)(nameless >> PAGE_SHIFT)) + mm->table_pages +
	       mm->area_count * (u32)sizeof(struct vma) / PAGE_SIZE;
}

/* Pages of address spaces that no other task uses: the one that the task builds, and all that it is freeing. */
static u32 pages_of_other_spaces(const struct task *task)
{
	u32 pages = task->next_mm ? pages_of_space(task->next_mm) : 0;
	struct deferred *work;

	if (task->ending_mm)
		pages += pages_of_space(task->ending_mm);
	list_for_each_entry(work, &task->deferred, link)
		if (mm_ending(work))
			pages += pages_of_space(mm_ending(work));
	return pages;
}

/*
 * Pages that the process's end would free: its own, its tables, its stacks, and those that its threads' messages,
 * calls and lists of groups and its descriptors hold.
 */
static u32 pages_freed_by(const struct process *process)
{
	static u32 round;
	u32 pages = process->thread_count * (KERNEL_STACK_SIZE / PAGE_SIZE);
	const struct mm *counted = NULL;
	const struct task *task;
	u32 bytes = 0;

	round++;
	list_for_each_window(task, &process->threads, group_link) {
		if (task->mm && task->mm != counted) {
			counted = task->mm;
			pages += pages_of_space(task->mm);
		}
		pages += pages_of_other_spaces(task);
		bytes += task->rendezvous.held_room + task->call_bytes;
		if (task->cred.groups)
			bytes += groups_size(task->cred.groups) / task->cred.groups->refs;
		/* Threads may have tables of their own. */
		if (task->files && task->files->weighed != round) {
			task->files->weighed = round;
			pages += files_pages_held(task->files);
		}
	}
	return pages + bytes / PAGE_SIZE;
}

/*
 * What may be killed: the largest of a user's processes, which count together, so that many small ones weigh as much as
 * a large one. Each process of the superuser is a candidate of its own.
 */
struct candidate {
	struct process *largest;
	u32 uid, pages, largest_pages;
};

#define CANDIDATES 32           /* after so many users, each process counts by itself, as the superuser's do */

static struct candidate *candidate_of(struct candidate *list, u32 *count, u32 uid)
{
	for (u32 i = 1; i < *count; i++)
		if (list[i].uid == uid)
			return &list[i];
	if (!uid || *count == CANDIDATES)
		return NULL;
	list[*count] = (struct candidate){ .uid = uid };
	return &list[(*count)++];
}

static bool is_killed(const struct process *process)
{
	return process->pending.set & SIGBIT(SIGKILL);
}

static bool is_ending(const struct process *process)
{
	return process->exiting || is_killed(process);
}

/*
 * The process to kill; NULL: none is left but init and those that have been killed. One that ends already comes first.
 * Those that have been killed and have not ended count with the others of their user, so that these come next.
 */
static struct process *choose_victim(u32 *pages)
{
	static struct candidate list[CANDIDATES];
	u32 count = 1, best = 0;        /* list[0]: the largest process that counts singly */
	struct process *process;

	list[0] = (struct candidate){ 0 };
	list_for_each_long(process, &process_list, all) {
		struct candidate *candidate;
		u32 held;

		if (process->pid == INIT_PID || process->zombie)
			continue;
		if (is_ending(process) && !process->oom_killed)
			return process;
		held = pages_freed_by(process);
		candidate = candidate_of(list, &count, process->leader->cred.uid);
		if (candidate)
			candidate->pages += held;
		else
			candidate = &list[0];
		if (held > candidate->largest_pages && !process->oom_killed) {
			candidate->largest = process;
			candidate->largest_pages = held;
		}
	}
	list[0].pages = list[0].largest_pages;
	for (u32 i = 1; i < count; i++)
		if (list[i].largest && (!list[best].largest || list[i].pages > list[best].pages))
			best = i;
	*pages = list[best].largest_pages;
	return list[best].largest;
}

/* Lets the victim run, which may wait for the kernel lock on another processor, or have a lower priority. */
static void let_run(void)
{
	bool woken = false;

	if (current->run_priority)
		sleep_killable(&woken, time_now_ns() + NSEC_PER_TICK);
	else
		yield();
	preemption_point();
}

/* A new victim: tasks that need memory wait until its threads have ended. */
static void hurry_victim(struct process *victim)
{
	struct task *task;

	list_for_each_window(task, &victim->threads, group_link)
		sched_hurry(task);
}

/*
 * Whether the victim's end goes on, though it takes long: a thread has run since the last call, or one runs or waits
 * for a processor now.
 */
static bool still_ends(const struct process *victim)
{
	static u64 last_ns;
	u64 ns = process_run_ns(victim);
	const struct task *task;

	if (ns != last_ns) {
		last_ns = ns;
		return true;
	}
	list_for_each_window(task, &victim->threads, group_link)
		if (task->state == TASK_RUNNING)
			return true;
	return false;
}

bool oom_kill(void)
{
	static s32 last;                /* pid of the last victim: many ask before it has ended */
	static u64 until;               /* then another victim may be chosen, if the last one makes no progress */
	struct process *victim = process_find(last);
	bool ended = !victim || victim->zombie || !victim->oom_killed;
	u32 pages = 0;

	if (!ended && time_now_ns() > until && still_ends(victim))
		until = time_now_ns() + NSEC_PER_SEC;
	if (ended || time_now_ns() > until) {
		victim = choose_victim(&pages);
		if (!victim)
			return false;
		if (!is_ending(victim))
			console_printf("pagewalk: out of memory: killed process %d \"%s\" (%u pages)\n", victim->pid,
				       victim->leader->name, pages);
		victim->oom_killed = true;
		last = victim->pid;
		until = time_now_ns() + NSEC_PER_SEC;
		hurry_victim(victim);
	}
	/* Kill also a victim that ends: it may have stopped for its tracer at PTRACE_EVENT_EXIT. */
	if (!is_killed(victim))
		signal_kill(victim);
	if (victim == current->process || signal_fatal_pending())
		return false;
	let_run();
	return true;
}

void call_without_memory(struct regs *regs)
{
	current->work &= ~WORK_MEMORY;
	if (regs_error(regs) != ENOMEM)
		return;
	/* Other tasks may have run since. If a victim has ended meanwhile, the call tries again first. */
	if (current->oom_ended_at_failure == oom_ended && !oom_kill())
		return;
	/* signal_deliver() repeats the call. */
	regs_set_error(regs, ERESTARTNOINTR);
	current->work |= WORK_SIGNAL;
}
