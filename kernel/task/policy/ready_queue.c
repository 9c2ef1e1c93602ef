/*
 * ready.queue: which threads the ready queue holds (Liedtke 1993, 5.3.4).
 *
 * full: all that are ready, the running one too; a thread enters when it becomes ready, and leaves when it blocks: the
 * form that the paper compares with. waiting: those that wait for the processor; a thread leaves the queue when it gets
 * it. lazy: at least all that wait. A thread that blocks stays, so that one that is woken soon costs no operation on
 * the queue. Whoever looks for the next thread takes out those that are not ready; how many these are has no bound.
 * Likewise a thread that has waited for a message with a time limit stays among the timers until its limit passes, or
 * until it has another wait. Several processors have only waiting. Forms: task/sched.c, task/time.c, and this file.
 */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>
#include <policy.h>
#include <sched.h>
#include <smp.h>
#include <task.h>

#include "../internal.h"
#include "../switching.h"

enum { QUEUE_FULL, QUEUE_WAITING, QUEUE_LAZY };

#define FORM CAUSE(switch) static inline __attribute__((always_inline))

static u64 threads_blocked;     /* threads that left the queue when they blocked (full), or stayed in it (lazy) */

FORM struct task *first_ready(const struct list_head *queue, bool lazy)
{
	while (!list_empty(queue)) {
		struct task *task = list_first_entry(queue, struct task, run_link);

		if (!lazy || task->state == TASK_RUNNING)
			return task;
		list_del(&task->run_link);
	}
	return NULL;
}

FORM struct task *pick_form(bool lazy)
{
	struct cpu *cpu = this_cpu();
	struct task *task = first_ready(&cpu->urgent, lazy);

	if (!task)
		task = first_ready(cpu->active, lazy);
	while (!task && sched_begin_round(cpu))
		task = first_ready(cpu->active, lazy);
	return task ? task : cpu->idle;
}

FORM void leave_when_blocked(struct task *task, bool lazy)
{
	threads_blocked++;
	if (!lazy)
		list_del(&task->run_link);
}

FORM void schedule_form(bool lazy)
{
	if (current->state != TASK_RUNNING) {
		leave_when_blocked(current, lazy);
	} else if (current != this_cpu()->idle) {
		list_del(&current->run_link);
		sched_enqueue_current();
	}
	switch_chosen(pick_form(lazy));
}

FORM void make_runnable_form(struct task *task, bool lazy)
{
	bool first = task_preempts(task, current);

	task->state = TASK_RUNNING;
	message_wait_over(task);
	if (first)
		current->work |= WORK_RESCHED;
	if (lazy && !first && turn_left(task) > 0 && !list_empty(&task->run_link))
		return;
	list_del(&task->run_link);
	sched_enqueue_woken(task, task_goes_before(task, current));
}

FORM void task_wake_form(struct task *task, bool lazy)
{
	if (task->state == TASK_INTERRUPTIBLE || task->state == TASK_KILLABLE || task->state == TASK_UNINTERRUPTIBLE)
		make_runnable_form(task, lazy);
}

FORM void task_continue_form(struct task *task, bool lazy)
{
	if (task->state == TASK_STOPPED || task->state == TASK_TRACED)
		make_runnable_form(task, lazy);
}

/*
 * Whether a ready task of a higher priority than `next` waits; current, which gives up the processor, does not count.
 */
FORM bool urgent_waits(const struct task *next)
{
	struct task *other;

	list_for_each_entry(other, &this_cpu()->urgent, run_link) {
		if (other->run_priority <= next->run_priority)
			return false;
		if (other != current && other->state == TASK_RUNNING)
			return true;
	}
	return false;
}

FORM bool schedule_to_form(struct task *next, bool lazy)
{
	if (current->work || next->state != TASK_INTERRUPTIBLE || turn_left(next) <= 0 || urgent_waits(next))
		return false;
	leave_when_blocked(current, lazy);
	if (!lazy)
		sched_enqueue(next, false);
	switch_directly(next);
	return true;
}

FORM __attribute__((noreturn)) void sched_end_form(bool lazy)
{
	list_del(&current->run_link);
	switch_last(pick_form(lazy));
}

static void limit_wait_lazily(u64 deadline)
{
	timer_set_lazily(&current->sleep_timer, deadline);
}

static void limit_end_lazily(void)
{
	timer_cancel_lazily(&current->sleep_timer);
}

#define FORMS(name, lazy)                                                                                              \
	CAUSE(switch) static void schedule_##name(void) { schedule_form(lazy); }                                       \
	CAUSE(switch) static void task_wake_##name(struct task *task) { task_wake_form(task, lazy); }                  \
	static void task_continue_##name(struct task *task) { task_continue_form(task, lazy); }                        \
	static void sched_start_##name(struct task *task)                                                              \
	{                                                                                                              \
		sched_share_turn(task);                                                                                \
		make_runnable_form(task, lazy);                                                                        \
	}                                                                                                              \
	CAUSE(switch) static bool schedule_to_##name(struct task *next) { return schedule_to_form(next, lazy); }       \
	CAUSE(switch) __attribute__((noreturn)) static void sched_end_##name(void) { sched_end_form(lazy); }           \
	static const void *const forms_##name[] = { (const void *)schedule_##name, (const void *)task_wake_##name,     \
		(const void *)task_continue_##name, (const void *)sched_start_##name, (const void *)schedule_to_##name,\
		(const void *)sched_end_##name }

FORMS(full, false);
FORMS(lazy, true);

static int ready_queue_apply(const struct policy_setting *to)
{
	static const void *const replaced[] = { (const void *)schedule, (const void *)task_wake,
		(const void *)task_continue,
		(const void *)sched_start, (const void *)schedule_to, (const void *)sched_end };
	const void *const *forms = to->choice == QUEUE_FULL ? forms_full : forms_lazy;

	if (to->choice == QUEUE_WAITING)
		return 0;
	if (SEVERAL)
		return -EOPNOTSUPP;
	message_allow(MESSAGE_BY_QUEUE, to->choice == QUEUE_LAZY);
	message_allow(MESSAGE_BY_LAZY, to->choice == QUEUE_LAZY);
	for (u32 i = 0; i < ARRAY_SIZE(replaced); i++)
		arch_replace(replaced[i], forms[i]);
	if (to->choice == QUEUE_LAZY) {
		arch_replace((const void *)sched_limit_wait, (const void *)limit_wait_lazily);
		arch_replace((const void *)sched_limit_end, (const void *)limit_end_lazily);
	}
	return 0;
}

POLICY_BUT(ready_queue, "ready.queue", CHOICES("full", "waiting", "lazy"), QUEUE_WAITING, POLICY_BOOT,
	   ready_queue_apply, "blocked", &threads_blocked);
