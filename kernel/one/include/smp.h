/*
 * One processor: what several ask of each other is nothing here, so that no caller tests how many there are.
 * several/include/smp.h has the same names, and says what they are.
 */
#ifndef SMP_H
#define SMP_H
#include <types.h>

struct mm;
struct regs;

/* Which image this is: for what has no meaning with several processors, or only with them. */
#define SEVERAL 0
#define CPUS 1u
#define cpu_count 1u

/* A lock protects nothing here, but its name is the same. */
struct spinlock {
	const char *name;
	bool last;
};
static inline void spin_lock(struct spinlock *lock) { (void)lock; }
static inline void spin_unlock(struct spinlock *lock) { (void)lock; }
static inline const char *spinlock_held(void) { return NULL; }
static inline void lock_register(struct spinlock *lock) { (void)lock; }

static inline void kernel_lock(void) { }
static inline void kernel_unlock(void) { }
static inline void kernel_lock_again(void) { }
static inline bool kernel_lock_held(void) { return true; }
static inline bool kernel_lock_wanted(void) { return false; }
static inline void kernel_lock_pass(void) { }

static inline u32 cpus_others(void) { return 0; }
static inline u32 cpus_using(const struct mm *mm) { (void)mm; return 0; }
static inline void cpus_call(u32 cpus, void (*function)(void *argument), void *argument)
{
	(void)cpus;
	(void)function;
	(void)argument;
}
static inline void cpus_hold(void) { }
static inline void cpus_release(void) { }
static inline void cpus_stop(void) { }
static inline void cpu_wait_to_stop(void) { }
static inline void cpu_stop(const struct regs *regs) { (void)regs; }

static inline void balance_tick(void) { }
static inline void sched_send_away(void) { }
static inline void sched_move(void) { }

void smp_init(void);
static inline bool several_fault(const char *name) { (void)name; return false; }

#endif
