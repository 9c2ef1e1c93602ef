/* null-call: the shortest calls of Mach's kernel that do something: a task asks for its thread's port (call=27), or for
 * its own (call=28). */
#include "mach.h"

#define CALL_TASK_SELF 28

static void calls(uint32_t call, uint32_t count)
{
	while (count--)
		if (call == CALL_TASK_SELF)
			mach_task_self();
		else
			mach_thread_self();
}

int mach_main(int count, char **arguments)
{
	uint32_t iterations = mach_option(count, arguments, "iterations", 1000);
	uint32_t call = mach_option(count, arguments, "call", 27);

	calls(call, mach_option(count, arguments, "warmup", 100));
	mach_region_begin();
	calls(call, iterations);
	mach_region_end();
	mach_row("null-call", iterations);
	return 0;
}
