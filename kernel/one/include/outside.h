/* One processor: no code runs outside of the kernel lock, because there is none (several/include/outside.h). */
#ifndef OUTSIDE_H
#define OUTSIDE_H
#include <types.h>

struct regs;

static inline __attribute__((always_inline)) bool outside_bound(void) { return false; }
static inline bool outside_enter(void) { return false; }
static inline void outside_leave(void) { }
static inline void outside_close(void) { }
static inline void outside_open(void) { }
static inline void outside_settle(void) { }
static inline __attribute__((always_inline)) bool fault_served_outside(const struct regs *regs, uaddr_t address,
									u32 access)
{
	(void)regs;
	(void)address;
	(void)access;
	return false;
}
static inline void outside_account(void) { }

#endif
