/* hello-bare: says hello without a C library: one write, one exit_group. */
#include "syscall.h"

int start_main(long *stack);

int start_main(long *stack)
{
	static const char text[] = "hello from a program without a C library\n";

	return stack[0] > 0 && system_call(__NR_write, 1, (long)text, sizeof(text) - 1, 0) == sizeof(text) - 1 ? 0 : 1;
}
