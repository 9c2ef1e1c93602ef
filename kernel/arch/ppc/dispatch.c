/* Calling a system call's function from its exception. */
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>

u32 syscall_unknown_count, syscall_unknown_last;

long sys_unknown(void)
{
	syscall_unknown_count++;
	syscall_unknown_last = task_regs(current)->gpr[0];
	return -ENOSYS;
}

/* A call that replaces all registers of the program (sigreturn, execve) clears regs->trap: then no result is stored. */
CAUSE(entry) void syscall_dispatch(struct regs *regs)
{
	u32 number = regs->gpr[0];
	u32 result;

	regs->orig_gpr3 = regs->gpr[3];
	if (number < SYSCALL_COUNT)
		result = (u32)syscall_table[number](regs->gpr[3], regs->gpr[4], regs->gpr[5], regs->gpr[6],
						    regs->gpr[7], regs->gpr[8]);
	else
		result = (u32)sys_unknown();
	if (regs->trap != TRAP_SYSCALL)
		return;
	regs_set_result(regs, result);
}

/* The handler of every system call while the calls of any task are traced. */
void exception_syscall_traced(struct regs *regs)
{
	const struct trace *trace = &current->trace;

	if (trace->syscalls)
		trace_stop_at_call();
	syscall_dispatch(regs);
	if (trace->syscalls) {
		trace_stop_at_call();
	} else if (trace->stepping) {
		/* The processor would stop only after the next instruction. */
		regs_set_stepping(regs, false);
		signal_fault(SIGTRAP, TRAP_TRACE, regs->nip);
	}
}
