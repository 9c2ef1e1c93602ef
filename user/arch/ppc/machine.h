/* What of the processor the tests use: single instructions, code, and the place of registers in a signal's context. */
#ifndef PAGEWALK_USER_MACHINE_H
#define PAGEWALK_USER_MACHINE_H

#include <stdint.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "code.h"

/* The word of the user area with the address of the next instruction. */
#define MACHINE_PC_WORD 32

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

/* What stands before the clock in MHz in /proc/cpuinfo. */
#define MACHINE_CLOCK "clock\t\t: "

/* The auxiliary vector has the sizes of cache lines. */
#define MACHINE_TELLS_CACHE_LINES 1

/* __builtin_frame_address(0) modulo 16. */
#define MACHINE_FRAME_REST 0

/* Exceptions of the floating-point unit are taken at the instruction that causes them. */
#define machine_float_wait() ((void)0)

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

/* Accesses of every kind to an address: their names, and instructions with the address in %0. */
#define MACHINE_ACCESSES(one) \
	one(lbz, "lbz 5, 1(%0)") one(lhz, "lhz 5, 2(%0)") one(lha, "lha 5, 2(%0)") one(lwz, "lwz 5, 0x18(%0)") \
	one(lwz_odd, "lwz 5, 0x1a(%0)") one(lwz_end, "lwz 5, 0xffe(%0)") one(stb, "stb 5, 1(%0)") \
	one(sth, "sth 5, 2(%0)") one(stw_odd, "stw 5, 6(%0)") one(stw_magic, "stw 5, 0x18(%0)") \
	one(stw_nothing, "stw 5, 0x100(%0)") one(lwz_nothing, "lwz 5, 0x100(%0)") one(lmw, "lmw 31, 8(%0)") \
	one(stmw, "stmw 29, 0x100(%0)") one(lwbrx, "lwbrx 5, 0, %0") one(stwbrx, "stwbrx 5, 0, %0") \
	one(lswi, "lswi 5, %0, 7") one(stswi, "stswi 5, %0, 7") one(lwarx, "lwarx 5, 0, %0") \
	one(stwcx, "stwcx. 5, 0, %0") one(dcbz, "dcbz 0, %0") one(dcbf, "dcbf 0, %0") one(dcbst, "dcbst 0, %0") \
	one(dcbt, "dcbt 0, %0") one(dcbi, "dcbi 0, %0") one(icbi, "icbi 0, %0") one(eciwx, "eciwx 5, 0, %0") \
	one(ecowx, "ecowx 5, 0, %0") one(lfd, "lfd 1, 8(%0)") one(lfs, "lfs 1, 8(%0)") one(stfd, "stfd 1, 8(%0)") \
	one(lfd_odd, "lfd 1, 9(%0)") one(stfs_odd, "stfs 1, 9(%0)") one(jump, "mtctr %0\n\tbctrl")
#define MACHINE_ACCESS_ADDRESS(address) "b"(address)
#define MACHINE_ACCESS_CLOBBERS "5", "6", "7", "8", "31", "fr1", "ctr", "lr", "cc", "memory"

/* One of these, by a number; the last is a jump. */
static inline void machine_access(volatile void *at, unsigned kind)
{
	switch (kind) {
	case 2:
		__asm__ volatile("lhz 0,0(%0)" : : "b"(at) : "r0", "memory");
		break;
	case 3:
		__asm__ volatile("stw 0,0(%0)" : : "b"(at) : "memory");
		break;
	case 4:
		__asm__ volatile("mr 12,31\n\tlmw 31,0(%0)\n\tmr 31,12" : : "b"(at) : "r12", "memory");
		break;
	case 5:
		__asm__ volatile("lwarx 0,0,%0\n\tstwcx. 0,0,%0" : : "b"(at) : "r0", "cr0", "memory");
		break;
	case 6:
		__asm__ volatile("dcbz 0,%0" : : "b"(at) : "memory");
		break;
	case 7:
		__asm__ volatile("dcbst 0,%0\n\ticbi 0,%0\n\tdcbf 0,%0" : : "b"(at) : "memory");
		break;
	case 8:
		__asm__ volatile("lfd 0,0(%0)\n\tstfd 0,0(%0)" : : "b"(at) : "fr0", "memory");
		break;
	case 9:
		__asm__ volatile("stwu 0,4(%0)" : "+b"(at) : : "memory");
		break;
	default:
		__asm__ volatile("mtctr %0\n\tbctrl" : : "b"(at) : "ctr", "lr", "memory");
	}
}

/* The control device refuses accesses of other sizes than a word's, and fetches. */
#define MACHINE_DEVICE_REFUSES 1

/* From begin to end a call finds the processor in a state that is seldom met: there is none. */
static inline void machine_odd_begin(unsigned kind)
{
	(void)kind;
}
static inline void machine_odd_end(unsigned kind)
{
	(void)kind;
}

/* A call that makes a child. The child returns here with 0. It ends at once and touches no memory, because it may share
 * the parent's. */
static inline long machine_fork_call(long n, const uint32_t r[6])
{
	register long r0 __asm__("r0") = n;
	register uint32_t r3 __asm__("r3") = r[0];
	register uint32_t r4 __asm__("r4") = r[1];
	register uint32_t r5 __asm__("r5") = r[2];
	register uint32_t r6 __asm__("r6") = r[3];
	register uint32_t r7 __asm__("r7") = r[4];

	__asm__ volatile("sc\n\t"
			 "bso 2f\n\t"
			 "cmpwi 3,0\n\t"
			 "bne 1f\n\t"
			 "li 0,%6\n\t"
			 "sc\n"
			 "2:\tneg 3,3\n"
			 "1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7)
			 : "i"(SYS_exit)
			 : "r8", "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return (long)r3;
}

/* A call that only this architecture has, and that replaces the caller's registers. */
#define MACHINE_LEAVES_OUT(number) ((number) == SYS_swapcontext)

/* The thread of a struct sigevent. */
#define MACHINE_EVENT_THREAD(event) ((event)._sigev_un._tid)

/* In a signal's context: the address of the registers. */
static inline void machine_spoil(ucontext_t *user, void *address)
{
	user->uc_mcontext.regs = address;
}
static inline void machine_mend(ucontext_t *user)
{
	user->uc_mcontext.regs = (void *)&user->uc_reg_space;
}

/* Words as instructions (hostile/instruction.c): the address of the one that raised a signal, and one that traps. */
#define MACHINE_RUNS_WORDS 1
#define MACHINE_TRAP_WORD 0x7fe00008u
static inline uintptr_t machine_address(const ucontext_t *user)
{
	return user->uc_mcontext.uc_regs->gregs[32];
}
/* Makes a word of one by chance: half of them have the opcodes under which most instructions are. */
static inline uint32_t machine_likely_word(uint32_t word)
{
	static const uint8_t opcodes[] = { 31, 31, 30, 58, 62, 63, 59, 19 };

	return word & 8 ? (word & 0x03ffffff) | (uint32_t)opcodes[word & 7] << 26 : word;
}
/* Not a branch nor a call: of opcode 19 only what is not bclr or bcctr. */
static inline int machine_goes_on(uint32_t word)
{
	uint32_t opcode = word >> 26, extended = word >> 1 & 0x3ff;

	return opcode < 16 || opcode > 19 || (opcode == 19 && extended != 16 && extended != 528);
}

/* SPRG4 to SPRG7 of a 405. */
static inline void machine_read_sprgs(uint32_t seen[4])
{
	__asm__ volatile("mfspr %0, 260; mfspr %1, 261; mfspr %2, 262; mfspr %3, 263"
			 : "=r"(seen[0]), "=r"(seen[1]), "=r"(seen[2]), "=r"(seen[3]));
}

/* USPRG0 of a 405, which programs may write. */
static inline uint32_t machine_read_usprg(void)
{
	uint32_t value;

	__asm__ volatile("mfspr %0, 256" : "=r"(value));
	return value;
}
static inline void machine_write_usprg(uint32_t value)
{
	__asm__ volatile("mtspr 256, %0" : : "r"(value));
}

#endif
