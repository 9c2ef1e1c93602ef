/* What of the processor the tests use: single instructions, code, and the place of registers in a signal's context. */
#ifndef PAGEWALK_USER_MACHINE_H
#define PAGEWALK_USER_MACHINE_H

#include <stdint.h>
#include <string.h>
#include <ucontext.h>

#include "code.h"

/* The word of the user area with the address of the next instruction. */
#define MACHINE_PC_WORD 12

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

/* A function that returns n, of at most MACHINE_CODE_SIZE bytes. */
#define MACHINE_CODE_SIZE 6
static inline void machine_code_returning(void *to, uint16_t n)
{
	/* mov eax, n; ret */
	const unsigned char code[MACHINE_CODE_SIZE] = { 0xb8, (unsigned char)n, n >> 8, 0, 0, 0xc3 };

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

/* What stands before the clock in MHz in /proc/cpuinfo. */
#define MACHINE_CLOCK "cpu MHz\t\t: "

/* The auxiliary vector has the sizes of cache lines. */
#define MACHINE_TELLS_CACHE_LINES 0

/* __builtin_frame_address(0) modulo 16. */
#define MACHINE_FRAME_REST 8

/* Takes an exception of the floating-point unit, which waits for the next instruction. */
#define machine_float_wait() __asm__ volatile("fwait")

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

/* Accesses of every kind to an address: their names, and instructions with the address in %0. */
#define MACHINE_ACCESSES(one) \
	one(movb, "movb 1(%0), %%al") one(movw, "movw 2(%0), %%ax") one(movl, "movl 0x18(%0), %%eax") \
	one(movl_odd, "movl 0x1a(%0), %%eax") one(movl_end, "movl 0xffe(%0), %%eax") one(store_b, "movb %%al, 1(%0)") \
	one(store_w, "movw %%ax, 2(%0)") one(store_odd, "movl %%eax, 6(%0)") one(store_magic, "movl %%eax, 0x18(%0)") \
	one(store_nothing, "movl %%eax, 0x100(%0)") one(load_nothing, "movl 0x100(%0), %%eax") \
	one(exchange, "xchgl %%eax, 8(%0)") one(locked, "lock; addl $1, 8(%0)") \
	one(compare, "lock; cmpxchgl %%ecx, 8(%0)") \
	one(bits, "lock; btsl $3, 8(%0)") one(strings, "movl %0, %%esi; leal 0x100(%0), %%edi; movl $8, %%ecx; rep; movsl") \
	one(fill, "movl %0, %%edi; movl $8, %%ecx; rep; stosl") one(pop, "pushl $0; popl 8(%0)") one(push, "pushl 8(%0); popl %%eax") \
	one(fldl, "fldl 8(%0); fstp %%st(0)") one(fstpl, "fld1; fstpl 8(%0)") one(fldt, "fldt 9(%0); fstp %%st(0)") \
	one(fnsave, "fnsave 8(%0)") one(fildq, "fildll 8(%0); fstp %%st(0)") one(segment, "lgs 8(%0), %%eax") \
	one(jump, "call *%0")
#define MACHINE_ACCESS_ADDRESS(address) "d"(address)
#define MACHINE_ACCESS_CLOBBERS "eax", "ecx", "esi", "edi", "cc", "memory"

/* Some of these, by a number; the last is a jump. */
static inline void machine_access(volatile void *at, unsigned kind)
{
	switch (kind) {
	case 2:
		__asm__ volatile("movw (%0), %%ax" : : "d"(at) : "eax", "memory");
		break;
	case 3:
		__asm__ volatile("movl %%eax, (%0)" : : "d"(at) : "memory");
		break;
	case 4:
		__asm__ volatile("movl $3, %%ecx; rep; lodsl" : "+S"(at) : : "eax", "ecx", "memory");
		break;
	case 5:
		__asm__ volatile("lock; xaddl %%eax, (%0)" : : "d"(at) : "eax", "cc", "memory");
		break;
	case 6:
		__asm__ volatile("movl $9, %%ecx; rep; stosl" : "+D"(at) : : "ecx", "memory");
		break;
	case 7:
		__asm__ volatile("movw %w0, %%gs; movl %%gs:0, %%eax" : : "d"(at) : "eax", "memory");
		break;
	case 8:
		__asm__ volatile("fldt (%0); fstpt (%0)" : : "d"(at) : "memory");
		break;
	case 9:
		__asm__ volatile("movl %%esp, %%ecx; movl %0, %%esp; pushl %%eax; movl %%ecx, %%esp" : : "d"(at) : "ecx", "memory");
		break;
	default:
		__asm__ volatile("call *%0" : : "d"(at) : "eax", "ecx", "esi", "edi", "cc", "memory");
	}
}

/* The control device takes accesses of all sizes, and fetches: a PC's bus refuses nothing. */
#define MACHINE_DEVICE_REFUSES 0

/* From begin to end a call finds the processor in a state that is seldom met: some of the kinds up to 32. */
static inline void machine_odd_begin(unsigned kind)
{
	switch (kind) {
	case 8:
		__asm__ volatile("movl %%ds, %%eax; movl %%eax, %%fs" : : : "eax");
		break;
	case 9:
		__asm__ volatile("movl %0, %%es" : : "r"(0));
		break;
	case 10:
		__asm__ volatile("std" : : : "cc");
		break;
	case 11:
		__asm__ volatile("pushfl; orl $0x44000, (%%esp); popfl" : : : "cc");    /* NT, AC */
		break;
	case 12:
		__asm__ volatile("fldz; fldpi; fdivp" : : : "st");
		break;
	case 13:
		__asm__ volatile("movl %0, %%fs" : : "r"(0));
		break;
	}
}
static inline void machine_odd_end(unsigned kind)
{
	switch (kind) {
	case 9:
		__asm__ volatile("movl %%ds, %%eax; movl %%eax, %%es" : : : "eax");
		break;
	case 10:
		__asm__ volatile("cld" : : : "cc");
		break;
	case 11:
		__asm__ volatile("pushfl; andl $~0x44000, (%%esp); popfl" : : : "cc");
		break;
	case 12:
		__asm__ volatile("fninit");
		break;
	}
}

/* A call that makes a child. The child returns here with 0. It ends at once and touches no memory, because it may share
 * the parent's. */
static inline long machine_fork_call(long n, const uint32_t r[6])
{
	long result;

	__asm__ volatile("int $0x80\n\t"
			 "testl %%eax, %%eax\n\t"
			 "jnz 1f\n\t"
			 "movl $1, %%eax\n\t"                 /* exit */
			 "int $0x80\n"
			 "1:"
			 : "=a"(result)
			 : "0"(n), "b"(r[0]), "c"(r[1]), "d"(r[2]), "S"(r[3]), "D"(r[4])
			 : "memory", "cc");
	return result;
}

/* A call that only this architecture has, and that replaces the caller's registers: there is none. */
#define MACHINE_LEAVES_OUT(number) ((void)(number), 0)

/* The thread of a struct sigevent. */
#define MACHINE_EVENT_THREAD(event) ((event).sigev_notify_thread_id)

/* In a signal's context: a segment's selector. */
static inline void machine_spoil(ucontext_t *user, void *address)
{
	user->uc_mcontext.gregs[3] = user->uc_mcontext.gregs[18] = (int)(uintptr_t)address;     /* REG_DS, REG_SS */
}
static inline void machine_mend(ucontext_t *user)
{
	user->uc_mcontext.gregs[3] = user->uc_mcontext.gregs[18] = 0x23;
}

/* No processor is a 405. */
static inline void machine_read_sprgs(uint32_t seen[4])
{
	memset(seen, 0, 4 * sizeof(*seen));
}
static inline uint32_t machine_read_usprg(void)
{
	return 0;
}
static inline void machine_write_usprg(uint32_t value)
{
	(void)value;
}

/* Instructions are no words (hostile/instruction.c). */
#define MACHINE_RUNS_WORDS 0
#define MACHINE_TRAP_WORD 0u
static inline uintptr_t machine_address(const ucontext_t *user)
{
	return (uintptr_t)user->uc_mcontext.gregs[14];
}
static inline uint32_t machine_likely_word(uint32_t word)
{
	return word;
}
static inline int machine_goes_on(uint32_t word)
{
	(void)word;
	return 1;
}

#endif
