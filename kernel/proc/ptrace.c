/* ptrace: the requests of a tracer. Numbers and layouts: abi/ptrace.h, abi/ptrace_base.h. */
#include <abi/elf.h>
#include <abi/elf_machine.h>
#include <abi/ptrace.h>
#include <arch.h>
#include <errno.h>
#include <file.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <register_set.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "../task/internal.h"

#define FP_SIZE   (FP_WORDS * sizeof(u64))
#define REGSET_SIZE (GENERAL_WORDS * sizeof(u32))

static bool may_attach(const struct task *task)
{
	return task->process != current->process && !task->trace.tracer && may_trace(task) &&
	       (!task->raises_privileges || capable());
}

static long ptrace_attach(struct task *task)
{
	struct process *process = task->process;

	if (!may_attach(task))
		return -EPERM;
	trace_attach(task, current->process, false, 0);
	/* A stopped process is continued, so that it can stop for its tracer. */
	if (process->stopping) {
		process->stopping = process->stopped = process->stop_unreported = false;
		signal_wake_all(process);
	}
	signal_task(task, SIGSTOP, NULL);
	return 0;
}

/* Attaches without a stop; if the process has stopped, reports that. */
static long ptrace_seize(struct task *task, uaddr_t address, u32 options)
{
	if (address || options & ~PTRACE_O_KNOWN)
		return -EIO;
	if (!may_attach(task))
		return -EPERM;
	trace_attach(task, current->process, true, options);
	if (task->process->stopping)
		trace_trap(task, TRAP_STOP);
	else
		signal_recalculate(task);
	return 0;
}

static long ptrace_trace_me(void)
{
	struct process *parent = current->process->parent;

	if (current->trace.tracer || parent->pid <= 0)
		return -EPERM;
	trace_attach(current, parent, false, 0);
	return 0;
}

/*
 * A stopped tracee of the caller; NULL: no tracee has this pid. A copy to or from the caller's memory may sleep, and
 * the tracee may be killed and freed meanwhile, so do not use the pointer after one.
 */
static struct task *stopped_tracee(s32 pid)
{
	struct task *task = task_find(pid);

	return task && task->trace.tracer == current->process && task->state == TASK_TRACED && !task->trace.listening ?
		       task :
		       NULL;
}

/*
 * The tracee's memory; NULL: none, or one that the tracer may not see. A tracer without privilege stays attached when
 * its tracee executes a program that the user may not read.
 */
static struct mm *memory_of(const struct task *task)
{
	struct mm *mm = task->mm;

	return mm && (mm->program.dumpable || task->trace.privileged) ? mm : NULL;
}

static long ptrace_peek(struct task *task, uaddr_t address, u32 *user)
{
	struct mm *mm = memory_of(task);
	u32 word;
	int error;

	if (!mm)
		return -EIO;
	mm_get(mm);
	error = mm_copy_from(mm, &word, address, sizeof(word));
	mm_put(mm);
	return error ? -EIO : put_user(word, user);
}

static long ptrace_poke(struct task *task, uaddr_t address, u32 word)
{
	struct mm *mm = memory_of(task);
	int error;

	if (!mm)
		return -EIO;
	mm_get(mm);
	error = mm_poke(mm, address, &word, sizeof(word));
	mm_put(mm);
	return error ? -EIO : 0;
}

static long ptrace_peek_user(struct task *task, u32 offset, u32 *user)
{
	u32 word;

	return register_word_get(task, offset, &word) ? -EIO : put_user(word, user);
}

static long ptrace_poke_user(struct task *task, u32 offset, u32 value)
{
	return register_word_set(task, offset, value) ? -EIO : 0;
}

static size_t register_set_size(u32 kind)
{
	return kind == NT_PRFPREG ? FP_SIZE : REGSET_SIZE;
}

/* Sets the first `size` bytes of a register set. Padding in the general set is ignored. */
static long ptrace_set_regset(s32 pid, u32 kind, const void *user, size_t size)
{
	struct register_set new;
	struct task *task;

	if (copy_from_user(&new, user, size))
		return -EFAULT;
	task = stopped_tracee(pid);
	if (!task)
		return -ESRCH;
	return register_set_put(task, kind, &new, size);
}

static long ptrace_get_regset(struct task *task, u32 kind, void *user, size_t size)
{
	struct register_set set;

	register_set_get(task, kind, &set);
	return copy_to_user(user, &set, size);
}

static long ptrace_regset(s32 pid, u32 kind, struct iovec *user, bool set)
{
	struct iovec vector;
	struct task *task;
	long error;

	if (copy_from_user(&vector, user, sizeof(vector)))
		return -EFAULT;
	if ((kind != NT_PRSTATUS && kind != NT_PRFPREG) || vector.len % sizeof(u32))
		return -EINVAL;
	task = stopped_tracee(pid);
	if (!task)
		return -ESRCH;
	vector.len = MIN(vector.len, register_set_size(kind));
	error = set ? ptrace_set_regset(pid, kind, vector.base, vector.len) :
		      ptrace_get_regset(task, kind, vector.base, vector.len);
	return error ? error : put_user(vector.len, &user->len);
}

static long ptrace_set_options(struct task *task, u32 options)
{
	if (options & ~PTRACE_O_KNOWN)
		return -EINVAL;
	task->trace.options = options;
	return 0;
}

static long ptrace_set_info(s32 pid, const struct siginfo *user)
{
	struct siginfo info;
	struct task *task;
	int error = siginfo_from_user(&info, user);

	if (error)
		return error;
	task = stopped_tracee(pid);
	if (!task)
		return -ESRCH;
	task->trace.info = info;
	return 0;
}

static long ptrace_get_info(const struct task *task, struct siginfo *user)
{
	struct siginfo info = task->trace.info;

	return siginfo_to_user(user, &info);
}

static long ptrace_go_on(struct task *task, int request, u32 sig)
{
	if (sig > NSIG)
		return -EIO;
	if (request == PTRACE_DETACH)
		trace_detach(task);
	else
		trace_mode(task, request == PTRACE_SYSCALL, request == PTRACE_SINGLESTEP);
	trace_resume(task, (int)sig);
	return 0;
}

/* PTRACE_LISTEN: the task stays stopped with its process, and SIGCONT and PTRACE_INTERRUPT are still reported. */
static long ptrace_listen(struct task *task)
{
	if (!task->trace.seized || task->trace.info.code >> 8 != PTRACE_EVENT_STOP)
		return -EIO;
	task->trace.listening = true;
	task->trace.unreported = false;
	if (task->trace.traps)
		signal_notice(task);
	return 0;
}

static long ptrace_interrupt(struct task *task)
{
	if (!task->trace.seized)
		return -EIO;
	trace_trap(task, TRAP_STOP);
	return 0;
}

static long ptrace_command(struct task *task, int request, uaddr_t address, uaddr_t data)
{
	switch (request) {
	case PTRACE_PEEKTEXT:
	case PTRACE_PEEKDATA:
		return ptrace_peek(task, address, (u32 *)data);
	case PTRACE_POKETEXT:
	case PTRACE_POKEDATA:
		return ptrace_poke(task, address, data);
	case PTRACE_PEEKUSR:
		return ptrace_peek_user(task, address, (u32 *)data);
	case PTRACE_POKEUSR:
		return ptrace_poke_user(task, address, data);
	case PTRACE_GETREGS:
		return ptrace_get_regset(task, NT_PRSTATUS, (void *)data, PTRACE_REGS_SIZE);
	case PTRACE_SETREGS:
		return ptrace_set_regset(task->pid, NT_PRSTATUS, (const void *)data, PTRACE_REGS_SIZE);
	case PTRACE_GETFPREGS:
		return ptrace_get_regset(task, NT_PRFPREG, (void *)data, FP_SIZE);
	case PTRACE_SETFPREGS:
		return ptrace_set_regset(task->pid, NT_PRFPREG, (const void *)data, FP_SIZE);
	case PTRACE_GETREGSET:
	case PTRACE_SETREGSET:
		return ptrace_regset(task->pid, address, (struct iovec *)data, request == PTRACE_SETREGSET);
	case PTRACE_SETOPTIONS:
		return ptrace_set_options(task, data);
	case PTRACE_GETEVENTMSG:
		return put_user(task->trace.message, (u32 *)data);
	case PTRACE_GETSIGINFO:
		return ptrace_get_info(task, (struct siginfo *)data);
	case PTRACE_SETSIGINFO:
		return ptrace_set_info(task->pid, (const struct siginfo *)data);
	case PTRACE_CONT:
	case PTRACE_SYSCALL:
	case PTRACE_SINGLESTEP:
	case PTRACE_DETACH:
		return ptrace_go_on(task, request, data);
	case PTRACE_LISTEN:
		return ptrace_listen(task);
	}
	return -EIO;
}

long sys_ptrace(int request, s32 pid, uaddr_t address, uaddr_t data)
{
	struct task *task;

	if (request == PTRACE_TRACEME)
		return ptrace_trace_me();
	task = task_find(pid);
	if (!task || task->state == TASK_DEAD)
		return -ESRCH;
	if (request == PTRACE_ATTACH)
		return ptrace_attach(task);
	if (request == PTRACE_SEIZE)
		return ptrace_seize(task, address, data);
	if (task->trace.tracer != current->process)
		return -ESRCH;
	/* These requests work on a running tracee. */
	if (request == PTRACE_INTERRUPT)
		return ptrace_interrupt(task);
	if (request == PTRACE_KILL) {
		signal_task(task, SIGKILL, NULL);
		return 0;
	}
	task = stopped_tracee(pid);
	return task ? ptrace_command(task, request, address, data) : -ESRCH;
}
