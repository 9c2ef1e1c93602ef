/* The slow return to user mode: signals, stops, restarted calls. */
#include <arch.h>
#include <deferred.h>
#include <errno.h>
#include <mm.h>
#include <process.h>
#include <sched.h>
#include <syscall.h>
#include <task.h>
#include <window.h>

#include "../task/internal.h"

/* The ERESTART* result of an interrupted call, or 0. */
static u32 restart_reason(const struct regs *regs)
{
	u32 error = regs_error(regs);

	switch (error) {
	case ERESTARTSYS:
	case ERESTARTNOINTR:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return error;
	default:
		return 0;
	}
}

/* No handler runs: repeats the call, so that the program notices nothing. */
static void restart_without_handler(struct regs *regs)
{
	u32 reason = restart_reason(regs);

	if (!reason)
		return;
	regs_call_again(regs);
	if (reason == ERESTART_RESTARTBLOCK)
		regs_set_call(regs, SYSCALL_RESTART_SYSCALL);
}

static void restart_with_handler(struct regs *regs, const struct action *action)
{
	u32 reason = restart_reason(regs);

	if (!reason)
		return;
	if (reason == ERESTARTNOINTR || (reason == ERESTARTSYS && (action->flags & SA_RESTART)))
		regs_call_again(regs);
	else
		regs_set_error(regs, EINTR);
}

/* Stops this thread until SIGCONT or SIGKILL. */
static void stop_here(void)
{
	/* Many threads may stop one after another, without a return to a program in between. */
	interrupt_window();
	current->state = TASK_STOPPED;
	signal_thread_stops(current->process);
	schedule();
}

static void act_by_default(const struct siginfo *info)
{
	int sig = info->signo;
	struct process *process = current->process;
	struct task *task;

	switch (signal_default(sig)) {
	case ACT_IGNORE:
	case ACT_CONTINUE:
		return;
	case ACT_STOP:
		if (current->trace.tracer && !current->trace.seized) {
			trace_stop(sig, NULL);
			return;
		}
		if (sig != SIGSTOP && pgrp_orphaned(process->pgid))
			return;         /* orphaned: nobody could continue it */
		process->stopping = true;
		process->stop_signal = sig;
		list_for_each_window(task, &process->threads, group_link)
			if (task->trace.seized)
				trace_trap(task, TRAP_STOP);
		signal_wake_all(process);
		return;
	case ACT_TERMINATE:
		process_exit(sig);
	case ACT_CORE:
		process_exit_dumping(info);
	}
}

/*
 * Asks the tracer about a signal: returns the same, another, or none (0). A tracer can stop the first process,
 * but not end it.
 */
static int ask_tracer(int sig, struct siginfo *info)
{
	int given = trace_stop(sig, info);

	if (given == sig)
		*info = current->trace.info;
	else
		*info = (struct siginfo){ .signo = given, .code = SI_USER };
	if (given && given != SIGSTOP && signal_protects_init(current, given))
		return 0;
	if (given && current->blocked & SIGBIT(given)) {
		signal_task(current, given, info);
		return 0;
	}
	return given;
}

static void run_handler(struct regs *regs, int sig, struct action *entry, const struct siginfo *info)
{
	struct action action = *entry;
	sigset saved = current->restore_blocked ? current->saved_blocked : current->blocked;

	restart_with_handler(regs, &action);
	current->restore_blocked = false;
	if (action.flags & SA_RESETHAND)
		entry->handler = SIG_DFL;
	if (signal_frame_push(regs, sig, &action, info, saved)) {
		/* The handler's frame cannot be written: send SIGSEGV; if SIGSEGV's cannot either, end the process. */
		if (sig == SIGSEGV)
			entry->handler = SIG_DFL;
		signal_fault(SIGSEGV, SI_KERNEL, regs_stack(regs));
		return;
	}
	signal_set_blocked(current->blocked | action.mask | ((action.flags & SA_NODEFER) ? 0 : SIGBIT(sig)));
	/* A step with a signal ends here: the processor would stop only after the handler's first instruction. */
	if (current->trace.stepping)
		trace_stop(SIGTRAP, NULL);
}

void signal_deliver(struct regs *regs)
{
	struct siginfo info;
	int sig;

	for (;;) {
		struct action *action;

		if (current->killed)
			task_exit(current->process->exit_status);
		if (current->trace.traps) {
			if (current->process->stopping)
				signal_thread_stops(current->process);
			trace_trapped();
			continue;
		}
		if (current->process->stopping && !current->trace.seized) {
			stop_here();
			continue;
		}
		sig = signal_dequeue(~current->blocked, &info);
		if (!sig)
			break;
		if (current->trace.tracer && sig != SIGKILL) {
			sig = ask_tracer(sig, &info);
			if (!sig)
				continue;
		}
		action = &current->sighand->action[sig - 1];
		if (action->handler == SIG_IGN)
			continue;
		if (action->handler == SIG_DFL) {
			act_by_default(&info);
			continue;
		}
		run_handler(regs, sig, action, &info);
		return;         /* return_to_user() repeats this for more signals */
	}
	signal_recalculate(current);
	restart_without_handler(regs);
	if (current->restore_blocked) {
		current->restore_blocked = false;
		signal_set_blocked(current->saved_blocked);
	}
}

void return_to_user(struct regs *regs)
{
	while (current->work) {
		if (current->work & WORK_NOTED)
			noted_run();
		if (current->work & WORK_DEFERRED)
			deferred_run();
		if (current->work & WORK_RESCHED)
			schedule();
		if (current->work & WORK_MOVE)
			sched_move();
		if (current->work & WORK_MEMORY)
			call_without_memory(regs);
		if (current->work & WORK_SIGNAL)
			signal_deliver(regs);
		/* Push a frame for each pending signal that has a handler. */
		if (current->work)
			interrupt_window();
	}
}
