/*
 * What each processor has of its own. this_cpu() is the one that runs the caller; with one processor it is at a fixed
 * address, and costs what a global variable costs. After a switch of tasks it may be another: do not keep it across one.
 */
#ifndef CPU_H
#define CPU_H

#include <arch/cpu_state.h>
#include <list.h>
#include <rbtree.h>
#include <types.h>

struct frame;
struct mm;
struct task;
struct timer;

#define CPUS 1u

struct cpu {
	/* proc/sched.c: what a switch reads and writes, in two lines of a cache. */
	struct task *running;           /* `current` of this processor, for the others */
	struct task *idle;              /* runs when nobody else wants to */
	struct task *ended;             /* has run for the last time; its stack can go */
	struct mm *mm;                  /* what the MMU holds; kernel tasks leave it. NULL: the kernel alone */
	struct list_head *active;       /* of turns: those whose turn is not over */
	struct list_head *expired;      /* those who have used theirs up */
	u32 context_switches;
	u32 number;                     /* in cpus[] */
	struct list_head turns[2];
	struct list_head real_time;     /* by falling run_priority */

	/* proc/time.c */
	u64 next_tick;                  /* ns since boot */
	u64 programmed;                 /* when the timer will interrupt */
	struct rb_root timers;          /* by expiry; of equals, in the order in which they were set */
	struct timer *next_timer;       /* the first of them */

	/* mm/cleared.c, mm/policy/idle_clear.c: free frames that the idle task has cleared, and is clearing */
	u32 first_cleared;              /* number of the first frame, 0: none (frame 0 is the vectors') */
	u32 cleared_count;
	struct frame *clearing;
	u32 clearing_offset;            /* bytes of it that are clear */

	struct cpu_state arch;
};

extern struct cpu cpus[CPUS];
static inline struct cpu *this_cpu(void) { return &cpus[0]; }

#define for_each_cpu(cpu) for (struct cpu *cpu = cpus; cpu < cpus + CPUS; cpu++)

#endif
