/* Waking and starting tasks where one processor runs them all (several/balance.c has the same names). */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <sched.h>
#include <task.h>

#include "../task/internal.h"
#include "../task/switching.h"

void (*idle_wait)(void) = arch_idle;

NOINLINE CAUSE(switch) static void make_other_runnable(struct task *task)
{
	if (task_preempts(task, current))
		current->work |= WORK_RESCHED;
	sched_enqueue_woken(task, task_goes_before(task, current));
}

NOINLINE CAUSE(switch) static void make_runnable(struct task *task)
{
	task->state = TASK_RUNNING;
	message_wait_over(task);
	/* The usual case: two tasks of the same nice that wake each other. */
	if (unlikely(task->run_priority | current->run_priority | ((task->rank ^ current->rank) & ~RANK_COMPUTES) ||
		     turn_left(task) <= 0)) {
		make_other_runnable(task);
		return;
	}
	if (current->rank & RANK_COMPUTES)
		current->work |= WORK_RESCHED;
	list_add_tail(&task->run_link, &task->cpu->urgent);
}

REPLACED CAUSE(switch) void task_wake(struct task *task)
{
	if (task->state != TASK_INTERRUPTIBLE && task->state != TASK_KILLABLE &&
	    task->state != TASK_UNINTERRUPTIBLE)
		return;
	make_runnable(task);
}

REPLACED void task_continue(struct task *task)
{
	if (task->state == TASK_STOPPED || task->state == TASK_TRACED)
		make_runnable(task);
}

REPLACED void sched_start(struct task *task)
{
	sched_share_turn(task);
	make_runnable(task);
}

REPLACED CAUSE(switch) bool schedule_to(struct task *next)
{
	return hand_over(next);
}

void sched_set_affinity(struct task *task, u32 cpus)
{
	task->affinity = cpus;
}
