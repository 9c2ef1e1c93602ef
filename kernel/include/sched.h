/* The scheduler: who runs next, sleeping and waking, and what the idle task does. */
#ifndef SCHED_H
#define SCHED_H
#include <list.h>
#include <types.h>

struct task;

/* The switch itself is the architecture's switch_to() (arch/task.h). */
void schedule(void);
void yield(void);
/*
 * Puts current to sleep and switches directly to `next`, which sleeps interruptibly. False, with nothing changed, if
 * another task must run first or `next` has used up its turn.
 */
bool schedule_to(struct task *next);
/* Processors of cpus[] that a task may run on; at least one of them runs. */
void sched_set_affinity(struct task *task, u32 cpus);
/* Lets a task that is to end run before others, whatever nice or policy it has: they wait for what it holds. */
void sched_hurry(struct task *task);
void task_wake(struct task *task);      /* makes a sleeping task runnable */
/*
 * Sets the time limit at which current is woken, and ends the limit after the wait. Only for waits that a partner's
 * message usually ends: ready.queue=lazy ends the limit later.
 */
void sched_limit_wait(u64 deadline);
void sched_limit_end(void);

/* The last step of the boot: current becomes the idle task, which calls its hooks in order of registration. */
void idle_loop(void) __attribute__((noreturn));

/*
 * A policy's idle work: does one small piece, much less than a tick, and returns false when none is left. Runs with
 * interrupts on.
 */
struct idle_hook {
	struct list_head link;
	bool (*work)(void);
};
/* Runs a hook; policy idle.cache binds whether the caches are locked or off meanwhile. */
extern bool (*idle_run)(bool (*work)(void));
extern bool idle_caches_locked;         /* while a hook runs */
void idle_hook_add(struct idle_hook *hook);
void idle_hook_remove(struct idle_hook *hook);
u64 idle_time_ns(void);

#endif
