/* Fills the processor's registers with one pattern, for registers.c. */
#ifndef PAGEWALK_USER_MACHINE_FILL_H
#define PAGEWALK_USER_MACHINE_FILL_H

#include <stdint.h>

#define MACHINE_FILLED 0xdadadadau
/* Words of the user area with registers, and how many of them are filled at least. */
#define MACHINE_USER_WORDS 17
#define MACHINE_FILLED_LEAST 6

/* A number of 80 bits, negative and normal. */
static const uint32_t machine_pattern[3] = { MACHINE_FILLED, MACHINE_FILLED, MACHINE_FILLED };

#define MACHINE_FLOATS "fninit\n.rept 8\nfldt (%%eax)\n.endr\n"

static inline __attribute__((noreturn)) void machine_fill_and_trap(int floats)
{
	(void)floats;
	__asm__ volatile(MACHINE_FLOATS
			 "movl (%%eax), %%eax\n"
			 "movl %%eax, %%ebx\nmovl %%eax, %%ecx\nmovl %%eax, %%edx\nmovl %%eax, %%esi\nmovl %%eax, %%edi\n"
			 "movl %%eax, %%ebp\nint3\n" : : "a"(machine_pattern) : "memory");
	__builtin_unreachable();
}

static inline __attribute__((noreturn)) void machine_fill_and_exec(const char *path, char *const *argv,
								   char *const *envp, int floats)
{
	(void)floats;
	__asm__ volatile(MACHINE_FLOATS
			 "movl (%%eax), %%esi\nmovl %%esi, %%edi\nmovl %%esi, %%ebp\nmovl $11, %%eax\nint $0x80\nint3\n"
			 : : "a"(machine_pattern), "b"(path), "c"(argv), "d"(envp) : "memory");
	__builtin_unreachable();
}

static inline __attribute__((always_inline)) void machine_floats_fill(void)
{
	__asm__ volatile(MACHINE_FLOATS : : "a"(machine_pattern) : "memory");
}

static inline __attribute__((always_inline)) void machine_floats_store(uint32_t *words)
{
	__asm__ volatile("fnsave (%0)\nfrstor (%0)\n" : : "r"(words) : "memory");
}

#endif
