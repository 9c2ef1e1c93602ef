/*
 * Uses pages after a call that must flush their translations. The argument names the call. On a kernel that flushes,
 * the last access of protect, last and unmap raises SIGSEGV, which is what should happen.
 */

enum { EXIT = 1, MUNMAP = 91, MPROTECT = 125 };
enum { PAGE = 4096, PAGES = 4, READ = 1, WRITE = 2, PRIVATE_ANONYMOUS = 0x22, DONT_NEED = 4 };

#if defined(__powerpc__)
enum { MMAP2 = 192, MADVISE = 205 };

static long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = number;
	register long r3 __asm__("r3") = a;
	register long r4 __asm__("r4") = b;
	register long r5 __asm__("r5") = c;
	register long r6 __asm__("r6") = d;
	register long r7 __asm__("r7") = e;
	register long r8 __asm__("r8") = f;

	__asm__ volatile("sc"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "memory", "cr0", "ctr", "r9", "r10", "r11", "r12");
	return r3;
}

static long call(long number, long a, long b, long c, long d)
{
	return call6(number, a, b, c, d, 0, 0);
}

static volatile char *pages(void)
{
	return (volatile char *)call6(MMAP2, 0, PAGES * PAGE, READ | WRITE, PRIVATE_ANONYMOUS, -1, 0);
}
#define ALIGN
#define START "mr 3, 1; stwu 1, -16(1); bl begin; trap"
#else
#define ALIGN force_align_arg_pointer,
#define START "mov %esp, %eax; push %eax; call begin; hlt"
enum { MMAP2 = 192, MADVISE = 219 };

static long call(long number, long a, long b, long c, long d)
{
	long result;

	__asm__ volatile("int $0x80" : "=a"(result) : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d) : "memory");
	return result;
}

static volatile char *pages(void)
{
	volatile char *found;

	__asm__ volatile("push %%ebp; xor %%ebp, %%ebp; int $0x80; pop %%ebp"
			 : "=a"(found)
			 : "0"(MMAP2), "b"(0), "c"(PAGES * PAGE), "d"(READ | WRITE), "S"(PRIVATE_ANONYMOUS), "D"(-1)
			 : "memory");
	return found;
}
#endif

static void touch(volatile char *at)
{
	for (int n = 0; n < PAGES; n++)
		at[n * PAGE] = 1;
}

static int run(char what)
{
	volatile char *at = pages();
	long start = (long)at;

	touch(at);
	switch (what) {
	case 'p':
		call(MPROTECT, start, PAGES * PAGE, READ, 0);
		touch(at);
		break;
	case 'u':
		call(MUNMAP, start, PAGES * PAGE, 0, 0);
		return at[PAGE];
	case 'l':
		call(MPROTECT, start, PAGES * PAGE, READ, 0);
		at[(PAGES - 1) * PAGE] = 1;
		break;
	case 'd':
		call(MADVISE, start, PAGES * PAGE, DONT_NEED, 0);
		return at[PAGE];
	}
	return 0;
}

__attribute__((ALIGN used)) static void begin(long *stack)
{
	char **arguments = (char **)(stack + 1);

	call(EXIT, stack[0] > 1 ? run(arguments[1][0]) : 2, 0, 0, 0);
}

__asm__(".globl _start\n_start: " START);
