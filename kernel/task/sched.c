/*
 * The scheduler: rounds, in each of which a task has one turn, below the real-time priorities. The length of a turn
 * depends on nice. Tasks that have used up their turn wait in `expired` for the next round, which begins when `active`
 * is empty, so that no task starves.
 *
 * A task that wakes keeps what is left of its turn, and runs before those that wait in `active`. It preempts a task
 * of its nice that only computes: two ticks in a row have found it running, without a sleep in between. It lets any
 * other task run until the next tick at most. A turn is measured in time, not in ticks, so that a task cannot gain by
 * sleeping at each tick, and no task begins two turns in one round.
 *
 * Tasks of SCHED_IDLE wait in `last` until no other is ready. One of them gets a tick in 32 rounds, about what its
 * weight is on Linux, so that what it holds becomes free however busy the others are. There is no limit for the
 * real-time priorities, which only a privileged program gives: such a task that never sleeps keeps the processor.
 *
 * It runs with interrupts off, as does the whole kernel except for the idle task and interrupt windows.
 */
#include <arch.h>
#include <arch/message.h>
#include <control.h>
#include <cpu.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <sched.h>
#include <smp.h>
#include <stat_tick.h>
#include <task.h>
#include <window.h>

#include "internal.h"
#include "switching.h"

#define IDLE_ROUNDS    32u      /* a task of SCHED_IDLE gets a turn in one of so many rounds */

#define LATE_NS        1000000u /* only kernel code keeps interrupts off for so long */

static struct task boot_idle = { .cpu = &cpus[0], .affinity = ~0u };

/* The first processor begins as its idle task. smp.c adds the others. */
struct cpu cpus[CPUS] = { [0] = {
	.running = &boot_idle,
	.idle = &boot_idle,
	.active = &cpus[0].turns[0],
	.expired = &cpus[0].turns[1],
	.turns = { LIST_HEAD_INIT(cpus[0].turns[0]), LIST_HEAD_INIT(cpus[0].turns[1]) },
	.urgent = LIST_HEAD_INIT(cpus[0].urgent),
	.last = LIST_HEAD_INIT(cpus[0].last),
	.online = true,
} };

static struct list_head idle_hooks = LIST_HEAD_INIT(idle_hooks);

/* A turn: 100 ms at nice 0, 200 ms at -20, 10 ms (one tick) at 19 and for SCHED_IDLE. */
s32 sched_slice(const struct task *task)
{
	if (task->policy == SCHED_IDLE)
		return 1;
	return task_is_real_time(task) ? 10 : MAX(1, (20 - task->nice) / 2);
}

/* Twice its nice; SCHED_IDLE is behind all of them. */
static s32 plain_rank(const struct task *task)
{
	return 2 * (task->policy == SCHED_IDLE ? NICE_IDLE : task->nice);
}

/* What follows from its policy, nice and priority. */
static void note_priority(struct task *task)
{
	task->rank = plain_rank(task);
	task->whole_turn = sched_slice(task) * (s32)time_tick_length;
}

/* A task gets a turn in a round. Time that it has used too much is taken off, as far as half a turn stays. */
NOINLINE CAUSE(switch) static void turn_begin(struct task *task, u32 round)
{
	s32 whole = task->whole_turn, left = turn_left(task);

	left = left > 0 ? whole : MAX(whole + left, whole / 2);
	task->turn_end = (u32)task->run_ticks + (u32)left;
	task->round = round;
}

NOINLINE CAUSE(switch) static void enqueue_by_priority(struct task *task, bool first)
{
	struct cpu *cpu = task->cpu;
	struct task *other;

	/* Only SCHED_RR has turns. */
	if (turn_left(task) <= 0 || task->policy == SCHED_FIFO)
		turn_begin(task, cpu->round);
	list_for_each_entry(other, &cpu->urgent, run_link) {
		if (other->run_priority < task->run_priority ||
		    (first && other->run_priority == task->run_priority))
			break;
	}
	list_add_tail(&task->run_link, &other->run_link);
}

/*
 * A task that has used up its turn gets another one: of this round, if it has had none in this round, because it slept.
 * False: of the next round.
 */
NOINLINE CAUSE(switch) static bool turn_in_round(struct task *task)
{
	u32 now = task->cpu->round;
	bool had_none = task->round != now && task->round != now + 1;

	turn_begin(task, had_none ? now : now + 1);
	return had_none;
}

CAUSE(switch) static inline void enqueue_with_turn(struct task *task, bool first)
{
	struct cpu *cpu = task->cpu;

	if (unlikely(task_runs_last(task)))
		list_add_tail(&task->run_link, &cpu->last);
	else if (task->round == cpu->round + 1)
		list_add_tail(&task->run_link, cpu->expired);
	else if (first)
		list_add(&task->run_link, cpu->active);
	else
		list_add_tail(&task->run_link, cpu->active);
}

NOINLINE CAUSE(switch) static void enqueue_without_turn(struct task *task, bool first)
{
	enqueue_with_turn(task, turn_in_round(task) && first);
}

CAUSE(switch) static inline void enqueue_by_turn(struct task *task, bool first)
{
	if (turn_left(task) <= 0)
		enqueue_without_turn(task, first);
	else
		enqueue_with_turn(task, first);
}

CAUSE(switch) void sched_enqueue(struct task *task, bool first)
{
	if (task_is_real_time(task))
		enqueue_by_priority(task, first);
	else
		enqueue_by_turn(task, first);
}

/* `before`: its nice is lower than that of the running task, so that it runs before all others that have slept. */
CAUSE(switch) void sched_enqueue_woken(struct task *task, bool before)
{
	if (task_is_real_time(task))
		enqueue_by_priority(task, false);
	else if (task_runs_last(task))
		enqueue_by_turn(task, false);
	else if (turn_left(task) <= 0 && !turn_in_round(task))
		list_add_tail(&task->run_link, task->cpu->expired);
	else if (before)
		enqueue_by_priority(task, true);
	else
		list_add_tail(&task->run_link, &task->cpu->urgent);
}

/* A task that gives up the processor, ready to go on: first of its priority, unless its turn is over. */
CAUSE(switch) void sched_enqueue_current(void)
{
	if (task_is_real_time(current))
		enqueue_by_priority(current, current->policy == SCHED_FIFO && turn_left(current) > 0);
	else
		enqueue_by_turn(current, true);
}

NOINLINE CAUSE(switch) bool sched_begin_round(struct cpu *cpu)
{
	struct list_head *empty = cpu->active;
	struct task *last;

	if (!list_empty(cpu->expired)) {
		cpu->active = cpu->expired;
		cpu->expired = empty;
		if (++cpu->round % IDLE_ROUNDS || list_empty(&cpu->last))
			return true;
	} else if (list_empty(&cpu->last)) {
		return false;
	}
	last = list_first_entry(&cpu->last, struct task, run_link);
	list_del(&last->run_link);
	list_add_tail(&last->run_link, cpu->active);
	return true;
}

CAUSE(switch) static inline __attribute__((always_inline)) struct task *sched_pick(void)
{
	struct cpu *cpu = this_cpu();
	struct task *task;

	if (!list_empty(&cpu->urgent)) {
		task = list_first_entry(&cpu->urgent, struct task, run_link);
	} else {
		if (list_empty(cpu->active) && !sched_begin_round(cpu))
			return cpu->idle;
		task = list_first_entry(cpu->active, struct task, run_link);
	}
	list_del(&task->run_link);
	return task;
}

bool sched_preempts(const struct task *task, const struct task *running)
{
	return task_preempts(task, running);
}

bool sched_goes_before(const struct task *task, const struct task *running)
{
	return task_goes_before(task, running);
}

/* Charges current for the time since the last switch or tick. */
static void charge_current(void)
{
	u32 now = arch_timebase_low();

	current->run_ticks += now - this_cpu()->run_since;
	this_cpu()->run_since = now;
}

/*
 * A new task gets half of the time left in its parent's turn, and nothing of a last tick. Otherwise a chain of
 * processes, each of which forks once and ends, would keep the processor.
 */
void sched_share_turn(struct task *task)
{
	s32 left;

	note_priority(task);
	left = task->whole_turn;
	task->round = this_cpu()->round;
	if (current != this_cpu()->idle && !task_is_real_time(task) && !task_is_real_time(current)) {
		charge_current();
		left = turn_left(current);
		left = left > (s32)time_tick_length ? left / 2 : 0;
		current->turn_end -= (u32)left;
	}
	task->turn_end = (u32)task->run_ticks + (u32)left;
}

/*
 * Current, which ends, gives the rest of its turn to its parent, so that many short tasks cost the parent no more than
 * the time that they run.
 */
void sched_give_back(struct task *parent)
{
	s32 left;

	charge_current();
	left = turn_left(current);
	if (left <= 0 || turn_left(parent) <= 0 || task_is_real_time(current) || task_is_real_time(parent))
		return;
	left = MIN(left + turn_left(parent), parent->whole_turn);
	parent->turn_end = (u32)parent->run_ticks + (u32)left;
}

/* A change of priority does not start a new turn. */
CAUSE(switch) void sched_requeue(struct task *task)
{
	s32 whole;

	message_forget();
	note_priority(task);
	whole = task->whole_turn;
	task->turn_end = (u32)task->run_ticks + (u32)MAX(MIN(turn_left(task), whole), -whole);
	if (!list_empty(&task->run_link)) {
		list_del(&task->run_link);
		sched_enqueue(task, false);
	}
	sched_interrupt(task->cpu->running, WORK_RESCHED);
}

void sched_hurry(struct task *task)
{
	if (task_is_real_time(task))
		return;
	task->policy = SCHED_NORMAL;
	task->nice = -20;
	sched_requeue(task);
}

REPLACED CAUSE(switch) void schedule(void)
{
	if (current->state == TASK_RUNNING && current != this_cpu()->idle)
		sched_enqueue_current();
	switch_chosen(sched_pick());
}

CAUSE(switch) void sched_to_idle(void)
{
	struct task *idle = this_cpu()->idle;

	pass_on(current->work, idle);
	current->work &= ~(WORK_RESCHED | WORK_NOTED);
	current->voluntary_switches++;
	before_switch(idle);
	switch_to(current, idle);
}

REPLACED void sched_limit_wait(u64 deadline)
{
	timer_set(&current->sleep_timer, deadline);
}

REPLACED void sched_limit_end(void)
{
	timer_cancel(&current->sleep_timer);
}

REPLACED CAUSE(switch) void sched_end(void)
{
	switch_last(sched_pick());
}

/* Out of line, so that latency reports name the caller. */
void interrupt_window(void)
{
	irq_enable();
	irq_disable();
}

bool preemption_due(void)
{
	interrupt_window();
	return current->work & (WORK_NOTED | WORK_RESCHED) || kernel_lock_wanted();
}

const struct list_head *list_next_meanwhile(const struct list_head *head, const struct list_head *at, u32 passed)
{
	if (!preemption_due())
		return at->next;
	preemption_point();
	for (at = head->next; passed && at != head; passed--) {
		interrupt_window_at(passed);
		at = at->next;
	}
	return at;
}

void preemption_point(void)
{
	interrupt_window();
	if (current->work & WORK_NOTED)
		noted_run();
	if (current->work & WORK_RESCHED)
		schedule();
	else
		kernel_lock_pass();
}

bool sched_real_time_waits(void)
{
	const struct list_head *queue = &this_cpu()->urgent;

	return current->work & WORK_RESCHED && !list_empty(queue) &&
	       list_first_entry(queue, struct task, run_link)->run_priority > current->run_priority;
}

void yield(void)
{
	u32 left = 0;

	message_forget();
	/* Queue behind all ready tasks: the rest of the turn is lost, and the next one is of the next round. */
	if (!task_is_real_time(current)) {
		left = (u32)current->whole_turn;
		current->round = this_cpu()->round + 1;
	}
	current->turn_end = (u32)current->run_ticks + left;
	schedule();
}

/*
 * Whether a tick that interrupted a program was due while the kernel ran: the interrupt then came late, or at the first
 * instruction after a system call.
 */
static bool fell_in_kernel(const struct regs *regs, u64 late_ns)
{
	u32 before = 0;

	if (!regs_user(regs) || late_ns > LATE_NS)
		return true;
	return mm_peek(current->mm, regs_pc_before(regs), &before) && regs_word_calls(before);
}

/* The tick ends a turn that has been used up. A task that has slept gets the processor at the latest now. */
static void turn_tick(struct task *task)
{
	const struct list_head *queue = &this_cpu()->urgent;
	const struct task *first = list_first_entry(queue, struct task, run_link);

	if (task->policy == SCHED_FIFO) {
		turn_begin(task, task->round);
		return;
	}
	if (turn_left(task) <= 0) {
		message_forget();
		task->work |= WORK_RESCHED;
	} else if (!list_empty(queue) && first != task && !task_is_real_time(task) && 
		   (first->rank & ~RANK_COMPUTES) <= task->rank) {
		task->work |= WORK_RESCHED;
	}
	task->rank = plain_rank(task) + (task->switches_seen == task->voluntary_switches ? RANK_COMPUTES : 0);
	task->switches_seen = task->voluntary_switches;
}

/* Called every 1/HZ s by the timer interrupt, late_ns after it was due. */
void sched_tick(struct regs *regs, u64 late_ns)
{
	struct task *task = current;
	bool idle = task == this_cpu()->idle, user = !idle && !fell_in_kernel(regs, late_ns);

	/* Add the time at each tick, before the low word can wrap around. */
	charge_current();
	stat_tick(regs, user);
	if (idle)
		return;
	balance_tick();
	if (user)
		task->user_ticks++;
	else
		task->system_ticks++;
	if (task->process->cpu_limits)
		itimer_tick(task->process, user);
	/* A task has left noted work, and nobody was told of it. */
	if (noted_left())
		task->work |= WORK_NOTED;
	message_check_turns();
	turn_tick(task);
}

u64 task_run_ns(const struct task *task)
{
	u64 ticks = task->run_ticks;

	for_each_cpu(cpu)
		if (task == cpu->running)
			ticks += arch_timebase_low() - cpu->run_since;
	return time_ticks_to_ns(ticks);
}

u64 process_run_ns(const struct process *process)
{
	u64 ns = time_ticks_to_ns(process->ended_run_ticks);
	struct task *task;

	list_for_each_window(task, &process->threads, group_link)
		ns += task_run_ns(task);
	return ns;
}

void idle_hook_add(struct idle_hook *hook)
{
	list_add_tail(&hook->link, &idle_hooks);
}

void idle_hook_remove(struct idle_hook *hook)
{
	list_del(&hook->link);
}

u64 idle_time_ns(void)
{
	u64 ns = 0;

	for_each_cpu(cpu)
		ns += task_run_ns(cpu->idle);
	return ns;
}

static bool run_plainly(bool (*work)(void))
{
	return work();
}

bool (*idle_run)(bool (*work)(void)) = run_plainly;

static bool anyone_runnable(void)
{
	const struct cpu *cpu = this_cpu();

	return !list_empty(cpu->active) || !list_empty(cpu->expired) || !list_empty(&cpu->urgent) ||
	       !list_empty(&cpu->last);
}

/* One round of the hooks; true if any of them did something. */
static bool idle_work(void)
{
	struct idle_hook *hook, *next;
	bool worked = false;

	list_for_each_entry_safe(hook, next, &idle_hooks, link) {
		irq_enable();
		worked |= idle_run(hook->work);
		irq_disable();
		kernel_lock_pass();
		if (anyone_runnable())
			return true;
	}
	return worked;
}

void idle_loop(void)
{
	irq_disable();
	for (;;) {
		schedule();
		if (current->work & WORK_MOVE)
			sched_send_away();
		control_cause(CONTROL_CAUSE_IDLE);
		while (!anyone_runnable()) {
			if (noted_left())
				noted_run();
			else if (!idle_work() && !noted_left())
				idle_wait();
		}
		control_cause(CONTROL_CAUSE_NONE);
	}
}
