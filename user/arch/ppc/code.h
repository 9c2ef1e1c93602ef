/* Code that a program writes. */
#ifndef PAGEWALK_USER_CODE_H
#define PAGEWALK_USER_CODE_H

/* The instruction cache does not see the data cache, and the compiler's __builtin___clear_cache does nothing here. */
static inline void machine_code_written(const void *code)
{
	__asm__ volatile("dcbst 0, %0; sync; icbi 0, %0; sync; isync" : : "r"(code) : "memory");
}

/* The instruction of a function's return, as a word. */
#define MACHINE_RETURN 0x4e800020u      /* blr */

#endif
