/* Several processors: none is started yet. */
#include <arch.h>

bool arch_start_others(void)
{
	return false;
}

void arch_lead(void)
{
}

void arch_follow(void)
{
}

void arch_leave_locks(void)
{
}

void arch_flush_short(bool on)
{
	(void)on;
}
