/* What of the processor the tests use: single instructions, code, and the place of registers in a signal's context. */
#ifndef PAGEWALK_USER_MACHINE_H
#define PAGEWALK_USER_MACHINE_H

#include <stdint.h>
#include <ucontext.h>

/* A word by one instruction, from any address. The first byte is the highest. */
static inline uint32_t machine_load(const void *at)
{
	uint32_t word;

	__asm__ volatile("lwz %0, 0(%1)" : "=r"(word) : "b"(at) : "memory");
	return word;
}
static inline void machine_store(void *at, uint32_t word)
{
	__asm__ volatile("stw %0, 0(%1)" : : "r"(word), "b"(at) : "memory");
}
#define MACHINE_BYTES(a, b, c, d) ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* The instruction cache does not see the data cache, and the compiler's __builtin___clear_cache does nothing here. */
static inline void machine_code_written(const void *code)
{
	__asm__ volatile("dcbst 0, %0; sync; icbi 0, %0; sync; isync" : : "r"(code) : "memory");
}
/* A function that returns n, of at most MACHINE_CODE_SIZE bytes. */
#define MACHINE_CODE_SIZE 8
static inline void machine_code_returning(void *to, uint16_t n)
{
	uint32_t *code = to;

	code[0] = 0x38600000 | n;       /* li r3, n */
	code[1] = 0x4e800020;           /* blr */
}
/* A loop of one instruction, and its run. */
static inline void machine_loop_make(void *to)
{
	uint32_t *code = to;

	code[0] = 0x42000000;           /* bdnz . */
	code[1] = 0x4e800020;           /* blr */
}
static inline void machine_loop_run(const void *loop, uint32_t times)
{
	__asm__ volatile("mtctr %0; mtlr %1; blrl" : : "r"(times), "r"(loop) : "ctr", "lr", "memory");
}

/* Instructions that a handler steps over by machine_skip() with their sizes, and the signals that they bring. */
static inline void machine_skip(ucontext_t *user, unsigned bytes)
{
	user->uc_mcontext.uc_regs->gregs[32] += bytes;  /* PT_NIP */
}
static inline uint32_t machine_load_fault(uint32_t value)
{
	__asm__ volatile("lwz %0, 0(%1)" : "+r"(value) : "b"(16));
	return value;
}
#define MACHINE_LOAD_SIZE 4
#define machine_illegal() __asm__ volatile(".long 0")
#define MACHINE_ILLEGAL_SIZE 4
#define machine_privileged() __asm__ volatile("mtmsr %0" : : "r"(0))
#define MACHINE_PRIVILEGED_SIZE 4
#define MACHINE_PRIVILEGED_SIGNAL SIGILL
#define machine_trap() __asm__ volatile("trap")
#define MACHINE_TRAP_SIZE 4

/* The settings of a terminal, as the kernel has them: requests, and where the characters begin behind the flags. */
#define MACHINE_TCGETS 0x402c7413    /* _IOR('t', 19, struct termios) */
#define MACHINE_TCSETS 0x802c7414
#define MACHINE_CHARACTERS_FROM 0

/* __builtin_frame_address(0) modulo 16. */
#define MACHINE_FRAME_REST 0

/* The C library has getcontext() and its family. */
#define MACHINE_SWAPS_CONTEXTS 1

/* There is a floating-point unit. Uses <sys/auxv.h>. */
#define MACHINE_HAS_FPU() ((getauxval(AT_HWCAP) & 0x08000000) != 0)     /* PPC_FEATURE_HAS_FPU */

/* The futex of a mutex of the C library's. */
#define MACHINE_MUTEX_WORD(mutex) (&(mutex)->__data.__lock)

/*
 * Whether a call leaves no value of the kernel's in the registers that it may change. They contain what the program put
 * there, or zero; r10 to r12 may also contain CR, the address of the next instruction, and LR.
 */
static inline int machine_call_is_clean(long call, unsigned long first)
{
	register long r0 __asm__("r0") = call;
	register unsigned long r3 __asm__("r3") = first;
	register unsigned long r4 __asm__("r4") = 4;
	register unsigned long r5 __asm__("r5") = 5;
	register unsigned long r6 __asm__("r6") = 6;
	register unsigned long r7 __asm__("r7") = 7;
	register unsigned long r8 __asm__("r8") = 8;
	register unsigned long r9 __asm__("r9") = 9;
	register unsigned long r10 __asm__("r10") = 10;
	register unsigned long r11 __asm__("r11") = 11;
	register unsigned long r12 __asm__("r12") = 12;
	static const unsigned long ctr = 0x1234, xer = 0x60000012;
	static unsigned long given[4], after[16];

	/* `given` also gets LR, CR and the address after the call. */
	__asm__ volatile("mtctr %[ctr]; mtxer %[xer]\n"
			 "	bl	1f\n"
			 "1:	mflr	%%r31; addi %%r31, %%r31, 2f - 1b; stw %%r31, 8(%[given])\n"
			 "	mflr	%%r31; stw %%r31, 0(%[given]); mfcr %%r31; stw %%r31, 4(%[given])\n"
			 "	sc\n"
			 "2:	stw	%%r0, 0(%[after]); stw %%r4, 16(%[after]); stw %%r5, 20(%[after])\n"
			 "	stw	%%r6, 24(%[after]); stw %%r7, 28(%[after]); stw %%r8, 32(%[after])\n"
			 "	stw	%%r9, 36(%[after]); stw %%r10, 40(%[after]); stw %%r11, 44(%[after])\n"
			 "	stw	%%r12, 48(%[after]); mfctr %%r0; stw %%r0, 52(%[after])\n"
			 "	mfxer	%%r0; stw %%r0, 56(%[after])\n"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8), "+r"(r9),
			   "+r"(r10), "+r"(r11), "+r"(r12)
			 : [ctr] "r"(ctr), [xer] "r"(xer), [given] "b"(given), [after] "b"(after)
			 : "cc", "ctr", "lr", "xer", "r31", "memory");
	if (after[0] != 0 && after[0] != (unsigned long)call)
		return 0;
	for (unsigned n = 4; n <= 12; n++)
		if (!(after[n] == 0 || after[n] == n || (n == 10 && ((after[n] ^ given[1]) & ~0x10000000ul) == 0) ||
		      (n == 11 && after[n] == given[2]) || (n == 12 && after[n] == given[0])))
			return 0;
	return (after[13] == 0 || after[13] == ctr) && (after[14] == 0 || after[14] == xer);
}

#endif
