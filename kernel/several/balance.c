/*
 * The scheduler among several processors: where a task that becomes runnable waits, and who takes tasks of others. Each
 * processor has its queues; the kernel lock protects all of them (one/sched.c has the same names).
 */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <sched.h>
#include <shootdown.h>
#include <smp.h>
#include <task.h>

#include "../task/internal.h"
#include "../task/switching.h"

#define BALANCE_TICKS 10u       /* a busy processor looks for a longer queue so often */
#define COUNTED_MOST 64u        /* waiting tasks that a count looks at */

static bool cpu_allowed(const struct task *task, const struct cpu *cpu)
{
	return task->affinity & 1u << cpu_index(cpu);
}

static bool queues_empty(const struct cpu *cpu)
{
	return list_empty(cpu->active) && list_empty(cpu->expired) && list_empty(&cpu->urgent) &&
	       list_empty(&cpu->last);
}

static bool is_idle(const struct cpu *cpu)
{
	return cpu->running == cpu->idle && queues_empty(cpu);
}

/*
 * Where a task that has just become runnable waits: where it ran last, if that processor is idle or nobody is; else on
 * an idle one. A real-time task goes where it can run at once.
 */
static struct cpu *place_task(const struct task *task)
{
	struct cpu *last = cpu_allowed(task, task->cpu) ? task->cpu : NULL, *first = NULL;

	if (last && is_idle(last))
		return last;
	for_each_cpu(cpu) {
		if (!cpu_allowed(task, cpu))
			continue;
		if (is_idle(cpu))
			return cpu;
		if (!first || (task->run_priority && !sched_preempts(task, first->running) &&
			       sched_preempts(task, cpu->running)))
			first = cpu;
	}
	return last && !(task->run_priority && !sched_preempts(task, last->running)) ? last : first;
}

/* A task keeps its turn on another processor: it is in the same round there, or as many rounds behind or ahead. */
static void change_cpu(struct task *task, struct cpu *cpu)
{
	task->round += cpu->round - task->cpu->round;
	task->cpu = cpu;
}

static void make_runnable(struct task *task)
{
	struct cpu *cpu = place_task(task);

	change_cpu(task, cpu);
	task->state = TASK_RUNNING;
	sched_enqueue_woken(task, sched_goes_before(task, cpu->running));
	if (sched_preempts(task, cpu->running))
		sched_interrupt(cpu->running, WORK_RESCHED);
}

CAUSE(switch) void task_wake(struct task *task)
{
	if (task->state == TASK_INTERRUPTIBLE || task->state == TASK_KILLABLE || task->state == TASK_UNINTERRUPTIBLE)
		make_runnable(task);
}

void task_continue(struct task *task)
{
	if (task->state == TASK_STOPPED || task->state == TASK_TRACED)
		make_runnable(task);
}

void sched_start(struct task *task)
{
	sched_share_turn(task);
	make_runnable(task);
}

CAUSE(switch) bool schedule_to(struct task *next)
{
	struct cpu *before = next->cpu;

	if (!cpu_allowed(next, this_cpu()))
		return false;
	change_cpu(next, this_cpu());
	if (hand_over(next))
		return true;
	change_cpu(next, before);
	return false;
}

void sched_set_affinity(struct task *task, u32 cpus)
{
	task->affinity = cpus;
	if (cpu_allowed(task, task->cpu))
		return;
	if (task == task->cpu->running) {
		sched_interrupt(task, WORK_MOVE);
	} else if (!list_empty(&task->run_link)) {
		list_del(&task->run_link);
		change_cpu(task, place_task(task));
		sched_enqueue(task, false);
		if (sched_preempts(task, task->cpu->running))
			sched_interrupt(task->cpu->running, WORK_RESCHED);
	}
}

/* The idle task sends current away, when nothing runs on its stack any more. */
void sched_move(void)
{
	struct cpu *cpu = this_cpu();

	current->work &= ~WORK_MOVE;
	if (cpu_allowed(current, cpu))
		return;
	ASSERT(!cpu->outgoing);
	cpu->outgoing = current;
	current->state = TASK_UNINTERRUPTIBLE;
	cpu->idle->work |= WORK_MOVE;
	sched_to_idle();
}

void sched_send_away(void)
{
	struct cpu *cpu = this_cpu();
	struct task *task = cpu->outgoing;

	current->work &= ~WORK_MOVE;
	cpu->outgoing = NULL;
	make_runnable(task);
}

/* A task of these queues that may run here, the one that would wait longest first. */
static struct task *task_movable(const struct list_head *queue, const struct cpu *cpu)
{
	struct task *task;
	u32 looked_at = 0;

	list_for_each_entry(task, queue, run_link) {
		if (cpu_allowed(task, cpu))
			return task;
		if (++looked_at == COUNTED_MOST)
			break;
	}
	return NULL;
}

static u32 count_queue(const struct list_head *queue)
{
	const struct task *task;
	u32 n = 0;

	list_for_each_entry(task, queue, run_link)
		if (++n == COUNTED_MOST)
			break;
	return n;
}

static u32 count_ready(const struct cpu *cpu)
{
	return count_queue(cpu->active) + count_queue(cpu->expired) + count_queue(&cpu->urgent) +
	       count_queue(&cpu->last);
}

/* Takes one waiting task of a processor on which more than `least` wait; false: there is none. */
static bool pull_task(struct cpu *cpu, u32 least)
{
	struct cpu *busiest = NULL;
	struct task *task;

	for_each_cpu(other) {
		other->ready = count_ready(other);
		if (other != cpu && other->ready > least) {
			least = other->ready;
			busiest = other;
		}
	}
	if (!busiest)
		return false;
	task = task_movable(&busiest->urgent, cpu);
	if (task) {
		list_del(&task->run_link);
		change_cpu(task, cpu);
		sched_enqueue_woken(task, false);
		return true;
	}
	task = task_movable(busiest->expired, cpu);
	if (!task)
		task = task_movable(busiest->active, cpu);
	if (!task)
		task = task_movable(&busiest->last, cpu);
	if (!task)
		return false;
	list_del(&task->run_link);
	change_cpu(task, cpu);
	sched_enqueue(task, false);
	return true;
}

void balance_tick(void)
{
	struct cpu *cpu = this_cpu();

	if ((u32)(cpu->ticks_user + cpu->ticks_system) % BALANCE_TICKS == 0)
		pull_task(cpu, count_ready(cpu) + 1);
}

/*
 * What the idle task does when its queues are empty: takes a task of others, or waits for an interrupt without the
 * lock.
 */
static void idle_wait_unlocked(void)
{
	struct cpu *cpu = this_cpu();

	if (pull_task(cpu, 0))
		return;
	cpu->dozing = true;
	kernel_unlock();
	arch_idle();
	kernel_lock();
	cpu->dozing = false;
	if (cpu->stale) {
		cpu->stale = false;
		arch_forget_translations();
		shootdown_emptied();
	}
}

void (*idle_wait)(void) = idle_wait_unlocked;
