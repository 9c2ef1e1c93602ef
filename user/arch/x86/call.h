/* How a program calls the kernel.
 *
 * i386: number in eax, arguments in ebx, ecx, edx, esi, edi, ebp, `int $0x80`. The result is in eax, minus the error
 * number if there is an error. All other registers keep their values, unless the call returns values in them. */
#ifndef PAGEWALK_USER_CALL_H
#define PAGEWALK_USER_CALL_H

/* ebp is an argument's register, but may hold the program's frame: it is loaded from memory for the call. */
static inline long system_call6(long number, long a, long b, long c, long d, long e, long f)
{
	long result;

	__asm__ volatile("pushl %7\n\t"
			 "pushl %%ebp\n\t"
			 "movl 4(%%esp), %%ebp\n\t"
			 "int $0x80\n\t"
			 "popl %%ebp\n\t"
			 "addl $4, %%esp"
			 : "=a"(result)
			 : "0"(number), "b"(a), "c"(b), "d"(c), "S"(d), "D"(e), "g"(f)
			 : "memory", "cc");
	return result;
}

#endif
