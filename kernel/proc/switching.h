/* What every form of the scheduler does around a switch (sched.c, policy ready.queue). */
#ifndef SWITCHING_H
#define SWITCHING_H

#include <arch.h>
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
	/* With equal nice, the task with more time left runs first. */
	return task->nice < running->nice || (task->nice == running->nice && task->slice > running->slice);
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
	current->run_ticks += now - current->run_since;
	next->run_since = now;
	cpu->context_switches++;
	cpu->running = next;
	if (next->mm && next->mm != cpu->mm)
		mmu->activate(next->mm);
}

#endif
