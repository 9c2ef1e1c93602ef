/*
 * The state of each processor. this_cpu() is the processor that runs the caller: each task knows its own. After a
 * switch of tasks it may be another processor, so do not keep the pointer across a switch.
 */
#ifndef CPU_H
#define CPU_H
#include <arch/cpu_state.h>
#include <list.h>
#include <rbtree.h>
#include <smp.h>
#include <task.h>
#include <types.h>

struct frame;
struct mm;
struct regs;
struct timer;

#define BOARD_CPUS 8u   /* the most that a board has */
#define IRQS 16u        /* external interrupts of devices: the most that a board has */
#define IPI_KINDS 4u    /* of interrupts between processors: the most that an interrupt controller has */

struct cpu {
	/* task/sched.c: what a switch reads and writes, in two cache lines. */
	struct task *running;           /* this processor's `current`, for other processors */
	struct task *idle;              /* runs when no other task is ready */
	struct mm *mm;                  /* the MMU's address space; kernel tasks keep it. NULL: none */
	struct list_head *active;       /* run queue by turns: tasks with time left */
	struct list_head *expired;      /* tasks that have used up their turn */
	u32 context_switches;
	u32 run_since;                  /* low word of the timebase at the last switch or tick */
	u32 number;                     /* that the interrupt controller gives it */
	struct list_head turns[2];
	struct list_head urgent;        /* real-time tasks by falling run_priority, then tasks that have slept */

	u32 round;                      /* how often `expired` became `active` */
	struct list_head last;          /* SCHED_IDLE: tasks that run when no other is ready, and now and then */

	/* task/time.c */
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
	u32 irqs[IRQS], ipis[IPI_KINDS], spurious_irqs;
	u32 timer_irqs, machine_checks;         /* task/time.c, arch */

	/* task/profile.c: 1/100 s */
	u64 ticks_user, ticks_system;

	/* several/smp.c, several/balance.c: only with several processors */
	bool online;                    /* has reached the kernel's C code */
	bool dozing;                    /* the idle task has let go of the kernel lock and waits for an interrupt */
	bool stale;                     /* must empty its TLB before it runs a program (policy shootdown) */
	bool asked_to_stop;             /* by a panic */
	bool stopping, stopped;         /* it prints its registers, and has done so */
	u32 called;                     /* cpus_call() wants it to run a function */
	struct task *outgoing;          /* a task that may no longer run here; the idle task sends it away */
	const struct regs *interrupted; /* by the interrupt that it handles */
	u32 ready;                      /* tasks that wait in its queues, as it last counted them */
	/* check=on: the spinlock that this processor took last and still holds. */
	const struct spinlock *lock_held;
	u32 first_spare, spare_count;   /* mm/frame.c: a list of the frames that it freed last, as first_cleared */
	u32 outside;                    /* it runs code outside of the kernel lock (outside.h) */
	u64 faults_outside;             /* faults that it has served outside */

	/* several/policy/shootdown_*.c: what other processors want it to flush */
	struct {
		struct spinlock lock;
		u32 count;              /* of jobs */
		bool all;
		struct flush_job *jobs;
		/*
		 * generation: number of the last flush that this processor must make, and of the last that it has made
		 */
		u32 due, passed;
		u32 generation;         /* it has made the flushes of its address space up to this one */
	} flushes;

	struct cpu_state arch;
};

extern struct cpu cpus[CPUS];
/* With one processor the compiler knows which it is. */
static inline struct cpu *this_cpu(void) { return SEVERAL ? current->cpu : cpus; }
/* A processor's number for programs. */
static inline u32 cpu_index(const struct cpu *cpu) { return (u32)(cpu - cpus); }

#define for_each_cpu(each) for (struct cpu *each = cpus; each < cpus + cpu_count; each++)

#endif
