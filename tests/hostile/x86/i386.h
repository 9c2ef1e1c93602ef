/* What the attacks by an i386's segments, flags, stacks and frames have in common. */
#ifndef HOSTILE_I386_H
#define HOSTILE_I386_H

#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/attack.h"

#define PAGE 4096u
#define KERNEL 0xc0000000u
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define STEP 0x100u             /* TF */
#define INTERRUPTS 0x200u       /* IF */
#define DOWN 0x400u             /* DF */
#define LEVEL 0x3000u           /* IOPL */
#define NESTED 0x4000u          /* NT */
#define VIRTUAL_86 0x20000u     /* VM */
#define ALIGNED 0x40000u        /* AC */

struct segment {
	unsigned entry, base, limit, flags;
};

/* Its selector. The C library has the first of the three that there are. */
static inline uint32_t make_segment(uint32_t base, uint32_t limit, uint32_t flags)
{
	struct segment s = { ~0u, base, limit, flags };

	MUST(syscall(SYS_set_thread_area, &s));
	return s.entry * 8 + 3;
}

static inline uint32_t data_selector(void)
{
	uint32_t selector;

	__asm__("movl %%ss, %0" : "=r"(selector));
	return selector;
}

/* The generator of odd words. A case sets it, so that each run has the same words. */
static uint32_t state = 1;

static inline uint32_t chance(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 16 | state << 16;
}

static inline uint32_t odd_word(void)
{
	static const uint32_t words[] = { 0, 3, 8, 0x10, 0x1b, 0x23, 0x28, 0x33, 0x3b, 0x202, 0x23202, 0x4302,
					  0xffffffff, KERNEL, KERNEL - 4, KERNEL - 100, 0xfffffff0, 0x7fffffff };
	uint32_t n = chance() % (COUNT(words) + 2);

	return n < COUNT(words) ? words[n] : chance();
}

#endif
