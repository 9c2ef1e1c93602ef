/* How a program calls the kernel.
 *
 * PPC32: number in r0, arguments in r3 to r8, `sc`. If CR0.SO is set on return, r3 is a positive error number.
 * The kernel may change r0, r3 to r12, CTR and CR0, as a function call may. */
#ifndef PAGEWALK_USER_CALL_H
#define PAGEWALK_USER_CALL_H

/* Returns the call's result, or minus the error number. */
static inline long system_call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r0 __asm__("r0") = number;
	register long r3 __asm__("r3") = a;
	register long r4 __asm__("r4") = b;
	register long r5 __asm__("r5") = c;
	register long r6 __asm__("r6") = d;
	register long r7 __asm__("r7") = e;
	register long r8 __asm__("r8") = f;

	__asm__ volatile("sc\n\t"
			 "bns+ 1f\n\t"
			 "neg 3,3\n"
			 "1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
}

#endif
