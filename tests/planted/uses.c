/*
 * Uses pages after a call that must flush their translations. The argument names the call. On a kernel that flushes,
 * the last access of protect, last and unmap raises SIGSEGV, which is what should happen.
 */

enum { EXIT = 1, MUNMAP = 91, MPROTECT = 125, MADVISE = 219, MMAP2 = 192 };
enum { PAGE = 4096, PAGES = 4, READ = 1, WRITE = 2, PRIVATE_ANONYMOUS = 0x22, DONT_NEED = 4 };

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

__attribute__((force_align_arg_pointer, used)) static void begin(long *stack)
{
	char **arguments = (char **)(stack + 1);

	call(EXIT, stack[0] > 1 ? run(arguments[1][0]) : 2, 0, 0, 0);
}

__asm__(".globl _start\n_start: mov %esp, %eax; push %eax; call begin; hlt");
