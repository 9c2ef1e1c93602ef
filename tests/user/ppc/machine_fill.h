/* Fills the processor's registers with one pattern, for registers.c. */
#ifndef PAGEWALK_USER_MACHINE_FILL_H
#define PAGEWALK_USER_MACHINE_FILL_H

#include <stdint.h>

#define MACHINE_FILLED 0xdadadadau
/* Words of the user area before the floating-point registers, and how many of them are filled at least. */
#define MACHINE_USER_WORDS 44
#define MACHINE_FILLED_LEAST 24

static const uint32_t machine_pattern[2] = { MACHINE_FILLED, MACHINE_FILLED };

#define MACHINE_FLOATS(instruction, at)                                                                                \
	".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"              \
	instruction " \\n, " at "\n.endr\n"

#define MACHINE_FILL                                                                                                   \
	"cmpwi 7, 0\n"                                                                                                 \
	"beq 1f\n" MACHINE_FLOATS("lfd", "0(6)") "1: lwz 6, 0(6)\n"                                                    \
	"mtcr 6\nmtxer 6\nmtctr 6\nmtlr 6\n"                                                                           \
	".irp n, 7,8,9,10,11,12,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\nmr \\n, 6\n.endr\n"

static inline __attribute__((noreturn)) void machine_fill_and_trap(int floats)
{
	register const uint32_t *pattern __asm__("r6") = machine_pattern;
	register int with_floats __asm__("r7") = floats;

	__asm__ volatile(MACHINE_FILL "trap\n" : : "r"(pattern), "r"(with_floats) : "memory");
	__builtin_unreachable();
}

static inline __attribute__((noreturn)) void machine_fill_and_exec(const char *path, char *const *argv,
								   char *const *envp, int floats)
{
	register const char *first __asm__("r3") = path;
	register char *const *second __asm__("r4") = argv;
	register char *const *third __asm__("r5") = envp;
	register const uint32_t *pattern __asm__("r6") = machine_pattern;
	register int with_floats __asm__("r7") = floats;

	__asm__ volatile(MACHINE_FILL "li 0, 11\nsc\ntrap\n"
			 : : "r"(first), "r"(second), "r"(third), "r"(pattern), "r"(with_floats) : "memory");
	__builtin_unreachable();
}

static inline __attribute__((always_inline)) void machine_floats_fill(void)
{
	__asm__ volatile(MACHINE_FLOATS("lfd", "0(%0)") : : "b"(machine_pattern) : "memory");
}

static inline __attribute__((always_inline)) void machine_floats_store(uint32_t *words)
{
	__asm__ volatile(".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n"
			 "stfd \\n, 8*\\n(%0)\n.endr\n" : : "b"(words) : "memory");
}

#endif
