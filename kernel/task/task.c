/* Tasks and processes as objects: creating, finding and freeing them. */
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <panic.h>
#include <process.h>
#include <task.h>
#include <window.h>

#include "internal.h"

#define PID_HASH 256u           /* a power of two */
#define PID_LOW  300            /* after a wrap, pids start here */

struct list_head process_list = LIST_HEAD_INIT(process_list);
u32 process_count, task_count, tasks_begun;
struct process *init_process;

/* The process of the idle task, and the parent of the first process: no signals, no user memory. */
struct process idle_process;

static struct list_head pid_hash[PID_HASH];
static s32 last_pid;
static bool pids_wrapped;

static struct list_head *pid_bucket(s32 pid)
{
	return &pid_hash[(u32)pid % PID_HASH];
}

void *call_alloc(size_t size)
{
	void *object = kmalloc(size);

	if (object)
		current->call_bytes += size;
	return object;
}

void call_free(void *object, size_t size)
{
	if (object)
		current->call_bytes -= size;
	kfree(object);
}

struct task *task_find(s32 pid)
{
	struct task *task;

	list_for_each_entry(task, pid_bucket(pid), hash_link) {
		if (task->pid == pid)
			return task;
	}
	return NULL;
}

struct process *process_find(s32 pid)
{
	struct task *task = task_find(pid);

	return task && task->pid == task->tgid ? task->process : NULL;
}

/* Pids of clones that have not published their task yet. */
static struct list_head claimed_pids = LIST_HEAD_INIT(claimed_pids);

void pid_claim(struct pid_claim *claim)
{
	claim->pid = 0;
	claim->uid = current->cred.uid;
	list_add(&claim->link, &claimed_pids);
}

static u32 pid_claims_of_user(u32 uid)
{
	const struct pid_claim *claim;
	u32 count = 0;

	list_for_each_window(claim, &claimed_pids, link)
		count += claim->uid == uid;
	return count;
}

/* Counts what RLIMIT_NPROC limits: a user's threads and zombies, and the threads that clone is making. */
static u32 tasks_of_user(u32 uid)
{
	struct process *process;
	u32 count = pid_claims_of_user(uid);

	list_for_each_window(process, &process_list, all) {
		if (process->leader->cred.uid == uid)
			count += MAX(process->thread_count, 1u);
	}
	return count;
}

bool tasks_over_limit(u32 more)
{
	u32 uid = current->cred.uid;

	return uid && tasks_of_user(uid) + more > rlimit(RLIMIT_NPROC);
}

/* A pid is also taken while a process group, a session or a clone under way has its number. */
static bool pid_taken(s32 pid)
{
	const struct pid_claim *claim;
	struct process *process;

	list_for_each_window(claim, &claimed_pids, link) {
		if (claim->pid == pid)
			return true;
	}

	if (task_find(pid))
		return true;
	if (!pids_wrapped)
		return false;
	list_for_each_window(process, &process_list, all) {
		if (process->pid == pid || process->pgid == pid || process->sid == pid)
			return true;
	}
	return false;
}

s32 pid_allocate(void)
{
	for (u32 tries = 0; tries < PID_MAX; tries++) {
		if (++last_pid >= PID_MAX) {
			last_pid = PID_LOW;
			pids_wrapped = true;
		}
		if (!pid_taken(last_pid))
			return last_pid;
	}
	return -EAGAIN;
}

#define STACK_WORD 0x5afe57acu

void stack_mark(struct task *task)
{
	*(u32 *)task->kernel_stack = STACK_WORD;
}

bool stack_overflown(const struct task *task, const struct regs *regs)
{
	const u32 *lowest = task->kernel_stack;

	if (!lowest)
		return false;   /* not initialised yet */
	return *lowest != STACK_WORD || (regs && !regs_user(regs) && 
	       (s32)((vaddr_t)regs - (vaddr_t)lowest) < (s32)STACK_RED_ZONE);
}

void stack_check(const struct regs *regs)
{
	if (unlikely(stack_overflown(current, regs)))
		panic_regs(regs, "kernel stack overflow at 0x%08x", regs_pc(regs));
}

struct task *task_new(struct process *process)
{
	struct task *task = kzalloc(sizeof(*task));

	if (!task)
		return NULL;
	task->kernel_stack = kmalloc(KERNEL_STACK_SIZE);
	if (!task->kernel_stack) {
		kfree(task);
		return NULL;
	}
	stack_mark(task);
	task->cpu = this_cpu();
	task->affinity = current->affinity;
	task->process = process;
	task->state = TASK_UNINTERRUPTIBLE;     /* until sched_start() */
	timer_init(&task->sleep_timer, sleep_timed_out);
	list_init(&task->run_link);
	list_init(&task->group_link);
	list_init(&task->hash_link);
	list_init(&task->deferred);
	list_init(&task->pi_waiters);
	sigpending_init(&task->pending);
	rendezvous_init(&task->rendezvous);
	task->altstack.flags = SS_DISABLE;
	return task;
}

void task_publish(struct task *task, s32 pid)
{
	struct process *process = task->process;

	task->pid = pid;
	task->tgid = process->pid;
	list_add_tail(&task->hash_link, pid_bucket(pid));
	list_add_tail(&task->group_link, &process->threads);
	process->thread_count++;
	task_count++;
	tasks_begun++;
}

/* For execve by a thread other than the leader: gives it the leader's pid. */
void task_rename(struct task *task, s32 pid)
{
	list_del(&task->hash_link);
	task->pid = pid;
	list_add_tail(&task->hash_link, pid_bucket(pid));
}

void task_free(struct task *task)
{
	if (task->trace.tracer)
		trace_detach(task);
	list_del(&task->hash_link);
	sigpending_flush(&task->pending);
	if (task->kernel_stack)
		task_release_stack(task);
	groups_put(task->cred.groups);
	kfree(task);
}

/*
 * The task has stopped running. Frees it if it is a thread. A leader's struct remains until the process is reaped,
 * unless nobody will reap it.
 */
void task_release_stack(struct task *task)
{
	struct process *process = task->process;

	arch_task_free(task);
	if (stack_overflown(task, NULL))
		panic("kernel stack overflow: task %d \"%s\", which has ended", task->pid, task->name);
	kfree(task->kernel_stack);
	task->kernel_stack = NULL;
	if (task->state != TASK_DEAD)
		return;         /* never ran: the caller frees the rest */
	if (process->leader != task && !trace_keep_thread(task))
		task_free(task);
	if (process->zombie && process->auto_reap && !process->thread_count)
		process_release(process);
}

struct process *process_new(void)
{
	struct process *process = kzalloc(sizeof(*process));

	if (!process)
		return NULL;
	process->pid = pid_allocate();
	if (process->pid < 0) {
		kfree(process);
		return NULL;
	}
	list_init(&process->threads);
	list_init(&process->all);
	list_init(&process->children);
	list_init(&process->sibling);
	list_init(&process->posix_timers);
	list_init(&process->traced);
	waitq_init(&process->child_wait);
	wake_note_init(&process->child_note, &process->child_wait);
	waitq_init(&process->exec_wait);
	waitq_init(&process->dump_wait);
	sigpending_init(&process->pending);
	itimer_init(process);
	process->start_ns = time_now_ns();
	return process;
}

/* Frees a process that is a zombie or was never published. */
void process_release(struct process *process)
{
	list_del(&process->all);
	list_del(&process->sibling);
	wake_note_drop(&process->child_note);
	pid_handle_reaped(process);
	sigpending_flush(&process->pending);
	if (process->zombie)
		process_count--;
	if (process->leader)
		task_free(process->leader);
	kfree(process);
}

void idle_init(struct task *idle)
{
	idle->state = TASK_RUNNING;
	idle->nice = NICE_IDLE;
	idle->rank = 2 * (NICE_IDLE + 1);      /* every task runs before it, SCHED_IDLE too */
	idle->cpu->run_since = arch_timebase_low();
	sigpending_init(&idle->pending);
	strlcpy(idle->name, "idle", sizeof(idle->name));
	idle->process = &idle_process;
}

void proc_init(void)
{
	for (u32 i = 0; i < PID_HASH; i++)
		list_init(&pid_hash[i]);
	idle_init(this_cpu()->idle);
	waitq_init(&idle_process.child_wait);
	wake_note_init(&idle_process.child_note, &idle_process.child_wait);
	list_init(&idle_process.children);
	list_init(&idle_process.traced);
	sigpending_init(&idle_process.pending);
}
