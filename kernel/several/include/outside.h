/*
 * Kernel code outside of the kernel lock (policy kernel.lock=fine, several/outside.c).
 *
 * A processor is outside from outside_enter() to outside_leave(), with interrupts off. There it reads what only the
 * holder of the kernel lock changes, and changes what is its own: an address space that nobody else uses. It may take
 * one of the locks below the kernel lock at a time, never the kernel lock itself, and does not sleep.
 *
 * Long copies between a program and a page of a file, a pipe or a stream (mm/iter.c) let the kernel lock go too, but
 * are not counted as outside, and outside_close() does not wait for them: the frame has a reference meanwhile, and the
 * mutex of the inode, or of the end of the pipe or stream, is held. A fault in such a copy is outside, as a program's.
 *
 * Who holds the kernel lock and changes what code outside may read closes it first. outside_close() waits until every
 * other processor has left; until outside_open(), outside_enter() fails, and the caller takes the kernel lock. With
 * kernel.lock=big nobody is outside, and these functions do nothing.
 */
#ifndef OUTSIDE_H
#define OUTSIDE_H
#include <types.h>

struct regs;

/* Whether code may run outside: policy kernel.lock is fine. */
extern bool kernel_lock_fine;
static inline __attribute__((always_inline)) bool outside_bound(void) { return kernel_lock_fine; }
bool outside_enter(void);       /* false: closed */
void outside_leave(void);
void outside_close(void);       /* calls nest */
void outside_open(void);
void outside_settle(void);      /* closes and opens: who was outside has left, who comes sees what was changed before */

/*
 * Whether a page fault was served without the kernel lock. If not, this processor has the lock when it returns; if it
 * interrupted a copy that goes on without the lock, kernel_leave() lets it go.
 */
bool fault_tried_outside(const struct regs *regs, uaddr_t address, u32 access);
static inline bool fault_served_outside(const struct regs *regs, uaddr_t address, u32 access)
{
	return outside_bound() && fault_tried_outside(regs, address, access);
}

extern u64 faults_outside;      /* faults served there: the sum over all processors, when it was last taken */
void outside_account(void);
struct text;
void outside_show(struct text *text);   /* for /proc/locks/contention */

#endif
