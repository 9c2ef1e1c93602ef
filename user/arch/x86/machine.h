/* What of the processor the tests use: single instructions, code, and the place of registers in a signal's context. */
#ifndef PAGEWALK_USER_MACHINE_H
#define PAGEWALK_USER_MACHINE_H

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

/* A word by one instruction, from any address. The first byte is the lowest. */
static inline uint32_t machine_load(const void *at)
{
	uint32_t word;

	__asm__ volatile("movl (%1), %0" : "=r"(word) : "r"(at) : "memory");
	return word;
}
static inline void machine_store(void *at, uint32_t word)
{
	__asm__ volatile("movl %0, (%1)" : : "r"(word), "r"(at) : "memory");
}
#define MACHINE_BYTES(a, b, c, d) ((uint32_t)(d) << 24 | (uint32_t)(c) << 16 | (uint32_t)(b) << 8 | (uint32_t)(a))

/* Fetches see what was stored. */
static inline void machine_code_written(const void *code)
{
	__asm__ volatile("" : : "r"(code) : "memory");
}
/* A function that returns n, of at most MACHINE_CODE_SIZE bytes. */
#define MACHINE_CODE_SIZE 6
static inline void machine_code_returning(void *to, uint16_t n)
{
	const unsigned char code[MACHINE_CODE_SIZE] = { 0xb8, (unsigned char)n, n >> 8, 0, 0, 0xc3 };   /* mov eax, n; ret */

	memcpy(to, code, sizeof(code));
}
/* A loop of one instruction, and its run. */
static inline void machine_loop_make(void *to)
{
	static const unsigned char code[] = { 0xe2, 0xfe, 0xc3 };       /* loop .; ret */

	memcpy(to, code, sizeof(code));
}
static inline void machine_loop_run(const void *loop, uint32_t times)
{
	__asm__ volatile("call *%1" : "+c"(times) : "r"(loop) : "memory");
}

/* Instructions that a handler steps over by machine_skip() with their sizes, and the signals that they bring. */
static inline void machine_skip(ucontext_t *user, unsigned bytes)
{
	user->uc_mcontext.gregs[14] += (int)bytes;      /* REG_EIP */
}
static inline uint32_t machine_load_fault(uint32_t value)
{
	__asm__ volatile("movl (%%ecx), %%eax" : "+a"(value) : "c"(16));
	return value;
}
#define MACHINE_LOAD_SIZE 2
#define machine_illegal() __asm__ volatile("ud2")
#define MACHINE_ILLEGAL_SIZE 2
#define machine_privileged() __asm__ volatile("hlt")
#define MACHINE_PRIVILEGED_SIZE 1
#define MACHINE_PRIVILEGED_SIGNAL SIGSEGV
#define machine_trap() __asm__ volatile("int3")
#define MACHINE_TRAP_SIZE 0             /* the context is behind it already */

/* The settings of a terminal, as the kernel has them: requests, and where the characters begin behind the flags. */
#define MACHINE_TCGETS 0x5401
#define MACHINE_TCSETS 0x5402
#define MACHINE_CHARACTERS_FROM 1

/* __builtin_frame_address(0) modulo 16. */
#define MACHINE_FRAME_REST 8

/* The C library has getcontext() and its family. */
#define MACHINE_SWAPS_CONTEXTS 0

/* There is a floating-point unit. Uses <sys/auxv.h>. */
#define MACHINE_HAS_FPU() 1

/* The futex of a mutex of the C library's. */
#define MACHINE_MUTEX_WORD(mutex) ((int *)(mutex) + 1)

/* Whether a call leaves every register but eax as the program had it. */
static inline int machine_call_is_clean(long call, unsigned long first)
{
	long result, b = (long)first, c = 2, d = 3, s = 4, e = 5, frame_kept;

	__asm__ volatile("pushl %%ebp\n\tmovl $0x12345678, %%ebp\n\tint $0x80\n\txorl $0x12345678, %%ebp\n\t"
			 "movl %%ebp, %%eax\n\tpopl %%ebp"
			 : "=a"(frame_kept), "+b"(b), "+c"(c), "+d"(d), "+S"(s), "+D"(e)
			 : "0"(call)
			 : "memory", "cc");
	result = b == (long)first && c == 2 && d == 3 && s == 4 && e == 5 && frame_kept == 0;
	return (int)result;
}

#endif
