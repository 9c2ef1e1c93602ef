/*
 * Tracing: how a task stops for its tracer, continues, and ends (ptrace(2)). A traced task stops before it takes a
 * signal, at the events that the tracer asked for, and around system calls. The tracer's wait reports each stop.
 */
#include <abi/clone.h>
#include <arch.h>
#include <process.h>
#include <sched.h>
#include <syscall.h>
#include <task.h>

#include "internal.h"

/* Tasks whose system calls are traced. While there are any, the vector's code checks each caller for tracing. */
static u32 traced_callers;

void trace_mode(struct task *task, bool syscalls, bool stepping)
{
	struct trace *trace = &task->trace;

	traced_callers += (syscalls || stepping) - (u32)(trace->syscalls || trace->stepping);
	arch_trace_syscalls(traced_callers != 0);
	trace->syscalls = syscalls;
	trace->stepping = stepping;
	if (task->state == TASK_DEAD)
		return;
	regs_set_stepping(task_regs(task), stepping);
}

void trace_attach(struct task *task, struct process *tracer, bool seize, u32 options)
{
	task->trace.tracer = tracer;
	task->trace.privileged = capable();
	task->trace.seized = seize;
	task->process->seized |= seize;
	task->trace.options = options;
	list_add_tail(&task->trace.link, &tracer->traced);
}

void trace_resume(struct task *task, int sig)
{
	task->trace.resume_signal = sig;
	task->trace.unreported = task->trace.listening = false;
	task_continue(task);
}

void trace_detach(struct task *task)
{
	trace_mode(task, false, false);
	list_del(&task->trace.link);
	task->trace.tracer = NULL;
	task->trace.seized = false;
	task->trace.traps = 0;
	task->trace.options = 0;
	/* A task without a tracer stops with its process. */
	if (task->state != TASK_DEAD)
		signal_recalculate(task);
}

void trace_trap(struct task *task, u8 trap)
{
	task->trace.traps |= trap;
	signal_notice(task);
}

void trace_trapped(void)
{
	const struct process *process = current->process;
	int sig = process->stopping ? process->stop_signal : SIGTRAP;

	current->trace.traps = 0;
	trace_stop(sig | PTRACE_EVENT_STOP << 8, NULL);
}

static void tell_tracer(struct task *task)
{
	struct siginfo info = { .signo = SIGCHLD, .code = CLD_TRAPPED };

	info.child.pid = task->pid;
	info.child.uid = task->cred.uid;
	info.child.status = (task->trace.status >> 8) & 0xff;
	task->trace.unreported = true;
	signal_process(task->trace.tracer, SIGCHLD, &info);
	wake_up(&task->trace.tracer->child_wait);
}

int trace_stop(s32 status, const struct siginfo *info)
{
	struct trace *trace = &current->trace;

	/* A task that is to end does not stop: no tracer might continue it. */
	if (current->killed || signal_fatal_pending())
		return 0;
	trace->traps &= (u8)~TRAP_STOP;
	trace->status = status << 8 | 0x7f;
	trace->info = info ? *info : (struct siginfo){ .signo = status & 0x7f, .code = status };
	trace->resume_signal = 0;
	current->state = TASK_TRACED;
	tell_tracer(current);
	schedule();
	trace->unreported = trace->listening = false;
	return trace->resume_signal;
}

static u32 option_of(int event)
{
	return 1u << event;     /* as the ABI numbers them */
}

void trace_event(int event, u32 message)
{
	if (!current->trace.tracer || !(current->trace.options & option_of(event)))
		return;
	current->trace.message = message;
	trace_stop(SIGTRAP | event << 8, NULL);
}

void trace_exec(void)
{
	struct siginfo info = { .signo = SIGTRAP, .code = SI_USER };

	if (!current->trace.tracer)
		return;
	info.kill.pid = current->tgid;
	info.kill.uid = current->cred.uid;
	if (current->trace.options & PTRACE_O_TRACEEXEC)
		trace_event(PTRACE_EVENT_EXEC, (u32)current->pid);
	else if (!current->trace.seized)
		signal_task(current, SIGTRAP, &info);
}

int trace_new_task(struct task *child, u32 clone_flags, u32 exit_signal)
{
	struct trace *trace = &current->trace;
	int event = clone_flags & CLONE_VFORK	? PTRACE_EVENT_VFORK :
		    exit_signal != SIGCHLD	? PTRACE_EVENT_CLONE :
						  PTRACE_EVENT_FORK;

	if (!trace->tracer)
		return 0;
	if (clone_flags & CLONE_UNTRACED || !(trace->options & option_of(event)))
		event = 0;
	if (event || clone_flags & CLONE_PTRACE) {
		trace_attach(child, trace->tracer, trace->seized, trace->options);
		child->trace.privileged = trace->privileged;
		if (trace->seized)
			trace_trap(child, TRAP_STOP);
		else
			signal_task(child, SIGSTOP, NULL);
	}
	return event;
}

void trace_tracer_gone(struct process *process)
{
	struct task *task, *next;

	list_for_each_entry_safe(task, next, &process->traced, trace.link) {
		bool kill = task->trace.options & PTRACE_O_EXITKILL;
		struct process *tracee = task->process;

		trace_detach(task);
		if (!tracee) {
			task_free(task);        /* an ended thread that the tracer has not waited for */
			continue;
		}
		if (kill)
			signal_process(tracee, SIGKILL, NULL);
		if (task->state == TASK_TRACED)
			trace_resume(task, 0);
		if (tracee->zombie && tracee->parent != process)
			process_ended(tracee);
	}
}

bool trace_hides_zombie(const struct process *process)
{
	const struct process *tracer = process->leader->trace.tracer;

	return tracer && tracer != process->parent;
}

bool trace_keep_thread(struct task *task)
{
	if (!task->trace.tracer)
		return false;
	/* The process may be freed before the tracer has waited. */
	trace_mode(task, false, false);
	list_del(&task->hash_link);
	task->process = NULL;
	wake_up(&task->trace.tracer->child_wait);
	return true;
}

/* Stops before or after a call. A signal that the tracer adds is taken on the return to user mode. */
void trace_stop_at_call(void)
{
	int sig = trace_stop(SIGTRAP | (current->trace.options & PTRACE_O_TRACESYSGOOD ? 0x80 : 0), NULL);

	if (sig)
		signal_task(current, sig, NULL);
}
