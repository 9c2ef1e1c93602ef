/* Two functions to write into memory: one returns 1, the other 2. */
#include <string.h>

#if defined(__powerpc__)
static const unsigned returns[2][2] = {{0x38600001, 0x4e800020}, {0x38600002, 0x4e800020}};
#elif defined(__i386__)
static const unsigned char returns[2][6] = {{0xb8, 1, 0, 0, 0, 0xc3}, {0xb8, 2, 0, 0, 0, 0xc3}};
#else
static const unsigned returns[2][2] = {{0x00100513, 0x00008067}, {0x00200513, 0x00008067}};
#endif

/* The compiler's built-in function flushes nothing on a PowerPC. */
static void write_code(char *at, int which)
{
	memcpy(at, returns[which], sizeof returns[which]);
#if defined(__powerpc__)
	__asm__ volatile("dcbst 0, %0; sync; icbi 0, %0; sync; isync" : : "r"(at) : "memory");
#else
	__builtin___clear_cache(at, at + sizeof returns[which]);
#endif
}
