/*
 * The state of each processor. this_cpu() is the processor that runs the caller; with one processor it is at a fixed
 * address and costs no more than a global variable. After a switch of tasks it may be another one, so do not keep the
 * pointer across a switch.
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

#define ISA_IRQS 16u    /* inputs of the 8259 pair */
#define IPI_KINDS 4u    /* of interrupts between processors: channels of an OpenPIC */

struct cpu {
	/* proc/sched.c: what a switch reads and writes, in two cache lines. */
	struct task *running;           /* this processor's `current`, for other processors */
	struct task *idle;              /* runs when no other task is ready */
	struct mm *mm;                  /* the MMU's address space; kernel tasks keep it. NULL: none */
	struct list_head *active;       /* run queue by turns: tasks with time left */
	struct list_head *expired;      /* tasks that have used up their turn */
	u32 context_switches;
	u32 number;                     /* in cpus[] */
	struct list_head turns[2];
	struct list_head real_time;     /* by falling run_priority */

	/* proc/time.c */
	u64 next_tick;                  /* ns since boot */
	u64 programmed;                 /* when the timer will interrupt */
	struct rb_root timers;          /* by expiry; equal ones in the order of timer_set() */
	struct timer *next_timer;       /* the first of them */

	/*
	 * mm/cleared.c, mm/policy/idle_clear.c: free frames that the idle task has cleared, and the one that it is
	 * clearing
	 */
	u32 first_cleared;              /* number of the first frame, 0: none (frame 0 is the vectors') */
	u32 cleared_count;
	struct frame *clearing;
	u32 clearing_offset;            /* bytes of that frame already cleared */

	/* dev/irq.c: how often each came */
	u32 irqs[ISA_IRQS], ipis[IPI_KINDS];

	struct cpu_state arch;
};

extern struct cpu cpus[CPUS];
static inline struct cpu *this_cpu(void) { return &cpus[0]; }

#define for_each_cpu(cpu) for (struct cpu *cpu = cpus; cpu < cpus + CPUS; cpu++)

#endif
