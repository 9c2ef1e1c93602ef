/* Code that a program writes. */
#ifndef PAGEWALK_USER_CODE_H
#define PAGEWALK_USER_CODE_H

/* Fetches of this processor see what was stored. */
static inline void machine_code_written(const void *code)
{
	__asm__ volatile("fence.i" : : "r"(code) : "memory");
}

/* The instruction of a function's return, as a word. */
#define MACHINE_RETURN 0x00008067u      /* ret */

#endif
