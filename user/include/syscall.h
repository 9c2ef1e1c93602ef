/* System calls without a C library, for programs that must run before a C library does. */
#ifndef PAGEWALK_USER_SYSCALL_H
#define PAGEWALK_USER_SYSCALL_H

#include <asm/unistd.h>

#include "call.h"

static inline long system_call(long number, long a, long b, long c, long d)
{
	return system_call6(number, a, b, c, d, 0, 0);
}

#endif
