/* Calls that a small Linux does not have, or that need what no machine here has: their errors. */
#define _GNU_SOURCE
#include "calltable.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

void case_absent(void)
{
	long a = ONE_OF(0, 1, -1, 3), b = ONE_OF(0, 1, 2, 4, -1);

	switch (pick(5)) {
	case 0:
		say("pkey_alloc(%ld,%ld)=", a, b);
		say_result(syscall(SYS_pkey_alloc, a, b));
		break;
	case 3:
		say("userfaultfd(%ld)=", a);
		say_result(syscall(SYS_userfaultfd, a));
		break;
	case 4:
		say("F_NOTIFY(%ld)=", b);
		say_result(fcntl(0, F_NOTIFY, b));
		break;
	case 1:
		say("pkey_free(%ld)=", a);
		say_result(syscall(SYS_pkey_free, a));
		break;
	default:
		say("pkey_mprotect(%ld,%ld)=", a, b);
		say_result(syscall(SYS_pkey_mprotect, ARENA, PAGE, a, b));
	}
}
