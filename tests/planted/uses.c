/*
 * Uses pages after a call that must flush their translations. The argument names the call. On a kernel that flushes,
 * the last access of protect, crowd, last and unmap raises SIGSEGV, which is what should happen.
 */

#include <call.h>

enum { EXIT = 1, MUNMAP = 91, MPROTECT = 125, MMAP2 = 192 };
/* CROWD: pages that displace the others from a TLB. */
enum { PAGE = 4096, PAGES = 4, CROWD = 1024, READ = 1, WRITE = 2, PRIVATE_ANONYMOUS = 0x22, DONT_NEED = 4 };

#if defined(__powerpc__)
enum { MADVISE = 205 };
#define ALIGN
#define START "mr 3, 1; stwu 1, -16(1); bl begin; trap"
#else
enum { MADVISE = 219 };
#define ALIGN force_align_arg_pointer,
#define START "mov %esp, %eax; push %eax; call begin; hlt"
#endif

static long call(long number, long a, long b, long c)
{
	return system_call6(number, a, b, c, 0, 0, 0);
}

static volatile char *pages(long count)
{
	return (volatile char *)system_call6(MMAP2, 0, count * PAGE, READ | WRITE, PRIVATE_ANONYMOUS, -1, 0);
}

static void touch(volatile char *at, long count)
{
	for (long n = 0; n < count; n++)
		at[n * PAGE] = 1;
}

static int run(char what)
{
	volatile char *at = pages(PAGES);
	long start = (long)at;

	touch(at, PAGES);
	switch (what) {
	case 'p':
		call(MPROTECT, start, PAGES * PAGE, READ);
		touch(at, PAGES);
		break;
	case 'c':
		call(MPROTECT, start, PAGES * PAGE, READ);
		touch(pages(CROWD), CROWD);
		touch(at, PAGES);
		break;
	case 'u':
		call(MUNMAP, start, PAGES * PAGE, 0);
		return at[PAGE];
	case 'l':
		call(MPROTECT, start, PAGES * PAGE, READ);
		at[(PAGES - 1) * PAGE] = 1;
		break;
	case 'd':
		call(MADVISE, start, PAGES * PAGE, DONT_NEED);
		return at[PAGE];
	}
	return 0;
}

__attribute__((ALIGN used)) static void begin(long *stack)
{
	char **arguments = (char **)(stack + 1);

	call(EXIT, stack[0] > 1 ? run(arguments[1][0]) : 2, 0, 0);
}

__asm__(".globl _start\n_start: " START);
