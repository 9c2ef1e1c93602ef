/*
 * Several processors: the kernel lock, other locks below it, and what one processor asks of others (several/smp.c).
 *
 * The kernel lock is held by the processor that runs the kernel. Entry from a program takes it, and so does an
 * interrupt of an idle processor; the return to the program and a wait of the idle task let it go. It stays with the
 * processor across a switch of tasks. Without it run only: reload handlers in assembly, interrupts between processors,
 * the entry and exit themselves, and with kernel.lock=fine what outside.h and mm/iter.c say. With one processor nobody
 * takes it (one/include/smp.h).
 *
 * Order: the kernel lock, then one of the locks below it, then the hash table's. A processor that holds one of these
 * asks for no lock before it and waits for no answer. Only the holder of the kernel lock asks others and waits for
 * their answers. Whoever waits for the kernel lock answers meanwhile (cpus_answer()), so that waits cannot form a ring.
 */
#ifndef SMP_H
#define SMP_H
#include <types.h>

struct cpu;
struct mm;
struct regs;
struct text;

/* Which image this is: for what has no meaning with several processors, or only with them. */
#define SEVERAL 1
#define CPUS 8u         /* the most that a board has */
extern u32 cpu_count;   /* processors that run; they are the first of cpus[] (cpu.h) */

/*
 * Tickets: who comes first gets it first. Without them a processor that lets go and takes the lock again would keep it,
 * since its cache has the line. The two words that others write and read while they wait have a cache line each.
 */
struct kernel_lock {
	_Alignas(32) u32 next;                  /* the next ticket */
	_Alignas(32) volatile u32 serving;      /* the ticket of the processor that has it */
	struct cpu *volatile holder;            /* NULL: nobody, or one that is about to let go */
	u32 times, contended;
	u64 waited;                             /* ticks of the timebase */
};
extern struct kernel_lock kernel_lock_words;    /* entry code lets go of it too */

struct spinlock {
	u32 taken;                      /* 0: nobody holds it */
	u32 times, contended;           /* how often it was taken, and had to be waited for */
	u64 waited;                     /* ticks of the timebase */
	const char *name;
	bool last;                      /* may be taken while another is held; who holds it takes none */
	const struct spinlock *above;   /* check=on: the lock that its holder held already */
};
void spin_lock(struct spinlock *lock);
void spin_unlock(struct spinlock *lock);
struct spinlock *spinlock_find(const char *name);       /* one that was taken already; NULL: none of this name was */

/*
 * For code that takes a lock itself: lock_wait() after it found the lock taken, which then has this word. With check=on
 * it calls lock_check() before, lock_note_held() while it holds it, and lock_note_left() before it gives it back.
 * lock_register(): /proc/locks/contention has it, whether it was taken or not.
 */
void lock_wait(struct spinlock *lock, u32 holder);
void lock_check(const struct spinlock *lock);
void lock_note_held(struct spinlock *lock);
void lock_note_left(const struct spinlock *lock);
void lock_register(struct spinlock *lock);
const char *spinlock_held(void);        /* by this processor, or "outside"; NULL: none */

void kernel_lock(void);
void kernel_unlock(void);
bool kernel_lock_held(void);            /* by this processor */
void kernel_lock_again(void);           /* takes it, unless this processor has it */
/*
 * kernel_enter(): an exception takes the lock, unless the interrupted code has it. kernel_leave(): before it returns,
 * it gives the lock back as the interrupted code had it.
 */
void kernel_enter(struct regs *regs);
void kernel_leave(struct regs *regs);

/* All processors but this one: bits for ipi_send(), as in every set of processors below. */
u32 cpus_others(void);
/* The others whose MMU has an address space. */
u32 cpus_using(const struct mm *mm);
/* Runs a function on these processors, with interrupts off and without the kernel lock, and waits until all have. */
void cpus_call(u32 cpus, void (*function)(void *argument), void *argument);
/* Does what others have asked of this processor. */
void cpus_answer(void);
/*
 * Holds the others outside of the kernel, while code or registers of all change; then each starts with empty TLB and
 * caches.
 */
void cpus_hold(void);
void cpus_release(void);
/* A panic: the others print their registers and stop. */
void cpus_stop(void);
/* For waits with interrupts off that answer nothing else: whoever is waited for may have panicked. */
void cpu_stop_if_panic(void);
/*
 * A panic on a second processor, while the first prints: waits for the first to ask, then cpu_stop() prints this one's
 * task and registers, and does not return.
 */
void cpu_wait_to_stop(void);
void cpu_stop(const struct regs *regs) __attribute__((noreturn));

/* Boot: starts the other processors, if there are any. */
void smp_init(void);
/* What a started processor runs, on the stack of its idle task: never returns. */
void smp_main(void) __attribute__((noreturn));
/* Makes the structures of one more processor, before it starts; NULL: no memory, or there are CPUS already. */
struct cpu *smp_add(u32 number);

bool kernel_lock_wanted(void);  /* another processor waits for the kernel lock */
/* Lets those that wait for the kernel lock have it first. */
void kernel_lock_pass(void);

/* balance.c: at a tick. The idle task: sends away the task that sched_move() left. */
void balance_tick(void);
void sched_send_away(void);
void sched_move(void);          /* for WORK_MOVE: current goes to another processor */
/* Makes a fault of this name for the checker to find; false: there is none. */
bool several_fault(const char *name);
bool arch_lock_fault(const char *name);

/* One row of it. */
void lock_show(struct text *text, const char *name, u32 times, u32 contended, u64 waited);

#endif
