/*
 * System calls. syscall/syscalls.tbl is the one table; syscall/generate.py
 * makes from it the prototypes below, the dispatch table, the list of names,
 * the documentation and the fuzzer's specification.
 *
 * A call is a C function sys_<name> that takes the ABI's six argument registers
 * as its arguments and returns a result, or a negative errno. The ABI passes a
 * 64-bit argument in an aligned register pair, as the C calling convention
 * does, so the table's types determine the function's prototype.
 */
#ifndef SYSCALL_H
#define SYSCALL_H
#include <errno.h>
#include <syscall_prototypes.h>
#include <types.h>

struct regs;

typedef long (*syscall_fn)(u32 a, u32 b, u32 c, u32 d, u32 e, u32 f);

/* Indexed by number; unused numbers hold sys_unknown. SYSCALL_COUNT is generated. */
extern const syscall_fn syscall_table[];

/*
 * Nonzero for the calls that read or change the caller's whole register set (fork, clone, execve, sigreturn...). The
 * lean entry saves, before such a call, the registers that it otherwise leaves alone. Such a call may use
 * regs_no_call(): then it has set all registers, and no result is stored in them. Indexed by number.
 */
extern const u8 syscall_needs_full_regs[];
extern const u8 syscall_returns_words[];         /* it returns values in its argument registers, beside the result */

/* An i386's oldest calls have numbers of users and groups with 16 bits; the last one is -1: none, or unchanged. */
static inline u32 widen_id(u32 id) { return (u16)id == 0xffffu ? ~0u : (u16)id; }

/* How often an unknown number was called, and the last one, for /proc/stat. */
extern u32 syscall_unknown_count;
extern u32 syscall_unknown_last;

/* Stops current, whose calls are traced, before or after a call (task/trace.c). */
void trace_stop_at_call(void);

/* The C dispatch of the plain entry: runs the call in regs and stores the result, or the error and its mark. */
void syscall_dispatch(struct regs *regs);

/*
 * A program never gets the ERESTART* results of <errno.h>: depending on the signal that interrupted it, the call is
 * repeated or ends with EINTR.
 */

#endif
