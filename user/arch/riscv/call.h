/* How a program calls the kernel.
 *
 * RV64: number in a7, arguments in a0 to a5, `ecall`. The result is in a0, minus the error number if there is an error.
 * All other registers keep their values. Linux has only the general forms of some calls here: this file gives numbers
 * to the others, and makes the general form of each. */
#ifndef PAGEWALK_USER_CALL_H
#define PAGEWALK_USER_CALL_H

enum {
	__NR_fork = 0x10000,
	__NR_open,
	__NR_access,
	__NR_mknod,
	__NR_mkdir,
	__NR_dup2,
	/* The offset is in pages of 4 KB. */
	__NR_mmap2,
};

static inline long system_call_general(long number, long a, long b, long c, long d, long e, long f)
{
	register long a7 __asm__("a7") = number;
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = e;
	register long a5 __asm__("a5") = f;

	__asm__ volatile("ecall"
			 : "+r"(a0)
			 : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5)
			 : "memory");
	return a0;
}

static inline long system_call6(long number, long a, long b, long c, long d, long e, long f)
{
	enum { HERE = -100, SIGCHLD_ = 17, PAGE = 4096 };

	switch (number) {
	case __NR_fork:
		return system_call_general(__NR_clone, SIGCHLD_, 0, 0, 0, 0, 0);
	case __NR_open:
		return system_call_general(__NR_openat, HERE, a, b, c, 0, 0);
	case __NR_access:
		return system_call_general(__NR_faccessat, HERE, a, b, 0, 0, 0);
	case __NR_mknod:
		return system_call_general(__NR_mknodat, HERE, a, b, c, 0, 0);
	case __NR_mkdir:
		return system_call_general(__NR_mkdirat, HERE, a, b, 0, 0, 0);
	case __NR_dup2:
		return system_call_general(__NR_dup3, a, b, 0, 0, 0, 0);
	case __NR_mmap2:
		return system_call_general(__NR_mmap, a, b, c, d, e, f * PAGE);
	default:
		return system_call_general(number, a, b, c, d, e, f);
	}
}

#endif
