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
 * Puts current to sleep and switches straight to `next`, which sleeps interruptibly. False, and nothing has changed,
 * if another task must run first or `next` has no turn left.
 */
bool schedule_to(struct task *next);
void task_wake(struct task *task);      /* makes a sleeping task runnable */

/* The boot context ends here. Idle work is a chain of hooks in order of registration. */
void idle_loop(void) __attribute__((noreturn));

/*
 * A policy's idle work: does one small piece (well under a tick), returns false when
 * there is nothing left to do. Runs with interrupts on.
 */
struct idle_hook {
	struct list_head link;
	bool (*work)(void);
};
/* Runs a hook: policy idle.cache binds how the caches are meanwhile. */
extern bool (*idle_run)(bool (*work)(void));
extern bool idle_caches_locked;         /* while a hook runs */
void idle_hook_add(struct idle_hook *hook);
void idle_hook_remove(struct idle_hook *hook);
u64 idle_time_ns(void);

#endif
