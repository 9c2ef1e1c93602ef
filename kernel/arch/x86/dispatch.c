/* Calling a system call's function from its exception. */
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>

#include "internal.h"

u32 syscall_unknown_count, syscall_unknown_last;

long sys_unknown(void)
{
	syscall_unknown_count++;
	syscall_unknown_last = task_regs(current)->error;
	return -ENOSYS;
}

/* A call that replaces all registers of the program (sigreturn, execve) clears regs->trap: then no result is stored. */
CAUSE(entry) void syscall_dispatch(struct regs *regs)
{
	u32 number = regs->error;
	u32 result;

	if (number < SYSCALL_COUNT)
		result = (u32)syscall_table[number](regs->ebx, regs->ecx, regs->edx, regs->esi, regs->edi, regs->ebp);
	else
		result = (u32)sys_unknown();
	if (regs->trap == TRAP_SYSCALL)
		regs->eax = result;
}

/*
 * The handler of every system call while the calls of any task are traced. During a call the tracer sees -ENOSYS in
 * eax. If the tracer sets a number that is no call, eax keeps -ENOSYS, or the value that the tracer wrote to it.
 */
void exception_syscall_traced(struct regs *regs)
{
	const struct trace *trace = &current->trace;

	regs->eax = (u32)-ENOSYS;
	if (trace->syscalls)
		trace_stop_at_call();
	if (regs->trap == TRAP_SYSCALL && (regs->error < SYSCALL_COUNT || !trace->syscalls))
		syscall_dispatch(regs);
	if (trace->syscalls)
		trace_stop_at_call();
	else if (trace->stepping)       /* the processor would stop only after the next instruction */
		signal_fault(SIGTRAP, TRAP_TRACE, regs->eip);
}
