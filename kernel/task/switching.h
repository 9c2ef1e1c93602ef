/* What every form of the scheduler does around a switch (sched.c, policy ready.queue). */
#ifndef SWITCHING_H
#define SWITCHING_H
#include <arch.h>
#include <arch/message.h>
#include <mmu.h>
#include <task.h>

#include "internal.h"

static inline bool task_is_real_time(const struct task *task)
{
	return task->run_priority;
}

/* Whether task, just woken, should run before the turn of the running one is over. */
static inline bool task_preempts(const struct task *task, const struct task *running)
{
	if (task_is_real_time(task))
		return !task_is_real_time(running) || task->run_priority > running->run_priority;
	if (task_is_real_time(running))
		return false;
	return (task->rank & ~RANK_COMPUTES) < running->rank;
}

/*
 * True if `task` is more urgent than the running task by nice. A running task of SCHED_IDLE makes no other task more
 * urgent.
 */
static inline bool task_goes_before(const struct task *task, const struct task *running)
{
	return task->nice < running->nice && running->nice != NICE_IDLE;
}

/* Whether it is of SCHED_IDLE. */
static inline bool task_runs_last(const struct task *task)
{
	return task->rank >= 2 * NICE_IDLE;
}

/* The next task does the noted work. */
CAUSE(switch) static inline void pass_on(u32 work, struct task *next)
{
	if (work & WORK_NOTED)
		next->work |= WORK_NOTED;
}

/* Counts the switch, charges the time, and activates next's address space. */
CAUSE(switch) static inline __attribute__((always_inline)) void before_switch(struct task *next)
{
	struct cpu *cpu = this_cpu();
	u32 now;

	switch_preload(next);
	now = arch_timebase_low();
	current->run_ticks += now - cpu->run_since;
	cpu->run_since = now;
	cpu->context_switches++;
	cpu->running = next;
	if (next->mm && next->mm != cpu->mm)
		mmu->activate(next->mm);
}

/* The end of each form of schedule(): runs the task that it has chosen, which may be the current one. */
CAUSE(switch) static inline __attribute__((always_inline)) void switch_chosen(struct task *next)
{
	u32 work = current->work;

	current->work = work & ~(WORK_RESCHED | WORK_NOTED);
	pass_on(work, next);
	if (next == current)
		return;
	if (current->state == TASK_RUNNING)
		current->involuntary_switches++;
	else
		current->voluntary_switches++;
	before_switch(next);
	switch_to(current, next);
}

/* The end of each form of schedule_to(): runs a task that waited, without a look at the queues. */
CAUSE(switch) static inline __attribute__((always_inline)) void switch_directly(struct task *next)
{
	next->state = TASK_RUNNING;
	message_wait_over(next);
	current->voluntary_switches++;
	before_switch(next);
	switch_to(current, next);
}

/* schedule_to(), once `next` is a task of this processor. */
CAUSE(switch) static inline __attribute__((always_inline)) bool hand_over(struct task *next)
{
	if (current->work || next->state != TASK_INTERRUPTIBLE || turn_left(next) <= 0 ||
	    (!list_empty(&this_cpu()->urgent) &&
	     list_first_entry(&this_cpu()->urgent, struct task, run_link)->run_priority > next->run_priority))
		return false;
	switch_directly(next);
	return true;
}

/* The end of each form of sched_end(). */
CAUSE(switch) static inline __attribute__((always_inline, noreturn)) void switch_last(struct task *next)
{
	pass_on(current->work, next);
	current->work = 0;
	current->state = TASK_DEAD;
	current->voluntary_switches++;
	before_switch(next);
	switch_away(current, next);
}

#endif
