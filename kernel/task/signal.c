/* Signals: sending, choosing a thread, and queueing. */
#include <account.h>
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <task.h>
#include <window.h>

#include "internal.h"

#define STOP_SIGNALS (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))
#define UNBLOCKABLE  (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))
/* Taken before other signals, because they report on the instruction that the program just executed. */
#define SYNCHRONOUS                                                                              \
	(SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE) | \
	 SIGBIT(SIGSYS))

void sigpending_init(struct sigpending *pending)
{
	pending->set = 0;
	list_init(&pending->queue);
}

static void signal_release(struct sigqueued *queued)
{
	list_del(&queued->link);
	if (queued->fixed)
		return;
	if (queued->account) {
		queued->account->signals--;
		account_settle(queued->account);
	}
	kfree(queued);
}

/* Removes ordinary signals. */
static void remove_ordinary(struct sigpending *pending, sigset set)
{
	struct sigqueued *queued, *next;

	pending->set &= ~set;
	list_for_each_entry_safe(queued, next, &pending->queue, link) {
		if (queued->info.signo >= SIGRTMIN)
			return;
		if (SIGBIT(queued->info.signo) & set)
			signal_release(queued);
	}
}

static void remove_real_time(struct sigpending *pending, int sig)
{
	struct list_head *at = pending->queue.next;

	while (at != &pending->queue) {
		struct sigqueued *queued = list_entry(at, struct sigqueued, link);

		if (queued->info.signo >= SIGRTMIN)
			interrupt_window();
		at = at->next;          /* now, since a signal may have come in the window */
		if (queued->info.signo == sig)
			signal_release(queued);
	}
	pending->set &= ~SIGBIT(sig);
}

void sigpending_drop(struct sigpending *pending, int sig)
{
	if (sig < SIGRTMIN)
		remove_ordinary(pending, SIGBIT(sig));
	else
		remove_real_time(pending, sig);
}

void sigpending_flush(struct sigpending *pending)
{
	struct sigqueued *queued;

	list_until_empty_window(queued, &pending->queue, link)
		signal_release(queued);
	pending->set = 0;
}

enum default_action signal_default(int sig)
{
	switch (sig) {
	case SIGCHLD:
	case SIGURG:
	case SIGWINCH:
		return ACT_IGNORE;
	case SIGCONT:
		return ACT_CONTINUE;
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
		return ACT_STOP;
	case SIGQUIT:
	case SIGILL:
	case SIGTRAP:
	case SIGABRT:
	case SIGBUS:
	case SIGFPE:
	case SIGSEGV:
	case SIGXCPU:
	case SIGXFSZ:
	case SIGSYS:
		return ACT_CORE;
	default:
		return ACT_TERMINATE;
	}
}

sigset signal_all_pending(const struct task *task)
{
	return task->pending.set | task->process->pending.set;
}

void signal_recalculate(struct task *task)
{
	struct process *process = task->process;

	if ((signal_all_pending(task) & (~task->blocked | task->wanted)) || task->killed || task->trace.traps ||
	    (process->stopping && !task->trace.seized))
		sched_interrupt(task, WORK_SIGNAL);
	else
		task->work &= ~WORK_SIGNAL;
}

bool signal_fatal_pending(void)
{
	return current->killed || (signal_all_pending(current) & SIGBIT(SIGKILL));
}

bool signal_ignored_or_blocked(int sig)
{
	return (current->blocked & SIGBIT(sig)) || current->sighand->action[sig - 1].handler == SIG_IGN;
}

struct sighand *sighand_new(const struct sighand *from)
{
	struct sighand *sighand = kzalloc(sizeof(*sighand));

	if (!sighand)
		return NULL;
	if (from)
		*sighand = *from;
	sighand->refs = 1;
	waitq_init(&sighand->arrived);
	wake_note_init(&sighand->arrival, &sighand->arrived);
	return sighand;
}

void sighand_put(struct sighand *sighand)
{
	if (--sighand->refs)
		return;
	wake_note_drop(&sighand->arrival);
	waitq_detach(&sighand->arrived);
	kfree(sighand);
}

/* For exec: handlers are reset to the default; ignored signals stay ignored. */
void signal_exec(void)
{
	for (int i = 0; i < NSIG; i++) {
		struct action *action = &current->sighand->action[i];
		uaddr_t handler = action->handler == SIG_IGN ? SIG_IGN : SIG_DFL;

		*action = (struct action){ .handler = handler };
	}
	current->altstack = (struct sigaltstack_abi){ .flags = SS_DISABLE };
}

static bool is_ignored(const struct task *task, int sig)
{
	uaddr_t handler = task->sighand->action[sig - 1].handler;
	enum default_action action = signal_default(sig);

	/* SIGCONT already acted when it was sent. */
	return handler == SIG_IGN || (handler == SIG_DFL && (action == ACT_IGNORE || action == ACT_CONTINUE));
}

bool signal_protects_init(const struct task *task, int sig)
{
	enum default_action action = signal_default(sig);

	return task->process == init_process && task->sighand->action[sig - 1].handler == SIG_DFL &&
	       action != ACT_IGNORE && action != ACT_CONTINUE;
}

void signal_notice(struct task *task)
{
	signal_recalculate(task);
	if (task->sighand)
		wake_up_noted(&task->sighand->arrival);
	if (!(task->work & WORK_SIGNAL))
		return;
	if (task->state == TASK_INTERRUPTIBLE ||
	    (task->state == TASK_KILLABLE &&
	     (task->killed || (signal_all_pending(task) & SIGBIT(SIGKILL)))))
		task_wake(task);
	else if (task->state == TASK_TRACED && (task->killed || (signal_all_pending(task) & SIGBIT(SIGKILL))))
		task_continue(task);
	else if (task->trace.traps && (task->trace.listening || task->state == TASK_STOPPED))
		task_continue(task);
}

void signal_wake_all(struct process *process)
{
	struct task *task;

	list_for_each_window(task, &process->threads, group_link) {
		if (task->state == TASK_STOPPED && (task->killed || !process->stopping))
			task_continue(task);
		signal_notice(task);
	}
}

/* The thread that takes a signal to the process: the leader if it does not block it, else any such thread. */
static struct task *signal_thread(struct process *process, int sig)
{
	struct task *task, *first = list_first_entry(&process->threads, struct task, group_link);

	if (process->blocked_by_all & SIGBIT(sig))
		return first;
	list_for_each_window(task, &process->threads, group_link)
		if (!task->ending && (~task->blocked | task->wanted) & SIGBIT(sig))
			return task;
	process->blocked_by_all |= SIGBIT(sig);
	return first;
}

/* Current no longer takes these signals to the process: tells another thread which of them are pending. */
static void tell_another(struct process *process, sigset signals)
{
	for (sigset left = process->pending.set & signals & ~process->blocked_by_all; left; left &= left - 1) {
		interrupt_window();
		signal_notice(signal_thread(process, __builtin_ctzll(left) + 1));
	}
}

void signal_not_wanted(sigset signals)
{
	struct process *process = current->process;

	current->wanted = 0;
	if (unlikely(process->pending.set & signals & current->blocked) && process->thread_count > 1)
		tell_another(process, signals & current->blocked);
}

void signal_set_blocked(sigset blocked)
{
	struct process *process = current->process;
	sigset before = current->blocked;

	current->blocked = blocked & ~UNBLOCKABLE;
	process->blocked_by_all &= current->blocked;
	if (unlikely(process->pending.set & current->blocked & ~before) && process->thread_count > 1)
		tell_another(process, current->blocked & ~before);
	signal_recalculate(current);
}

void signal_leave(void)
{
	struct process *process = current->process;

	current->ending = true;
	if (process->exiting)
		return;
	tell_another(process, ~0ULL);
	if (process->stopping)
		signal_thread_stops(process);
}

static void cancel_in_threads(struct process *process, sigset opposites)
{
	struct task *task;

	list_for_each_window(task, &process->threads, group_link)
		remove_ordinary(&task->pending, opposites);
	process->thread_signals &= ~opposites;
}

static void notify_seizers(struct process *process)
{
	struct task *task;

	list_for_each_window(task, &process->threads, group_link)
		if (task->trace.seized)
			trace_trap(task, TRAP_NOTIFY);
}

/* SIGCONT and the stop signals remove each other from the pending sets, whatever their handlers. */
static void cancel_opposites(struct process *process, int sig)
{
	sigset opposites = sig == SIGCONT ? STOP_SIGNALS : (STOP_SIGNALS & SIGBIT(sig)) ? SIGBIT(SIGCONT) : 0;

	if (opposites)
		remove_ordinary(&process->pending, opposites);
	if (process->thread_signals & opposites)
		cancel_in_threads(process, opposites);
	if (sig == SIGCONT && process->seized)
		notify_seizers(process);
	if ((sig == SIGCONT || sig == SIGKILL) && process->stopping) {
		bool was_stopped = process->stopped;

		process->stopping = process->stopped = process->stop_unreported = false;
		process->continue_unreported = was_stopped;
		signal_wake_all(process);
		if (was_stopped && sig == SIGCONT)
			notify_parent(process, CLD_CONTINUED, 0);
	}
}

/*
 * Adds a pending signal, an ordinary one before the real-time ones. An ordinary signal is pending once; real-time
 * signals are queued.
 */
static void add_pending(struct sigpending *pending, int sig, struct sigqueued *queued)
{
	struct sigqueued *other;

	if (sig < SIGRTMIN && (pending->set & SIGBIT(sig))) {
		if (queued)
			signal_release(queued);
		return;
	}
	pending->set |= SIGBIT(sig);
	if (!queued)
		return;
	if (sig < SIGRTMIN) {
		list_for_each_entry(other, &pending->queue, link)
			if (other->info.signo >= SIGRTMIN)
				break;
		list_add_tail(&queued->link, &other->link);
	} else {
		list_add_tail(&queued->link, &pending->queue);
	}
}

static void add_to_thread(struct task *task, int sig, struct sigqueued *queued)
{
	task->process->thread_signals |= SIGBIT(sig);
	add_pending(&task->pending, sig, queued);
}

u32 signals_queued(u32 uid)
{
	const struct account *account = account_find(uid);

	return account ? account->signals : 0;
}

bool signal_queue_is_full(const struct process *process, int sig)
{
	u32 limit = process->rlimit[RLIMIT_SIGPENDING].soft;

	return sig >= SIGRTMIN && limit != RLIM_INFINITY && signals_queued(process->leader->cred.uid) >= limit;
}

/* NULL: no siginfo, no memory, or the user has too many. The signal is then delivered without siginfo. */
static struct sigqueued *queued_new(const struct process *process, int sig, const struct siginfo *info)
{
	struct sigqueued *queued;
	struct account *account = NULL;

	if (!info || signal_queue_is_full(process, sig))
		return NULL;
	queued = kmalloc(sizeof(*queued));
	if (!queued)
		return NULL;
	/* Ordinary signals are not charged: of each, only one is queued to a task or process. */
	if (sig >= SIGRTMIN) {
		account = account_of(process->leader->cred.uid);
		if (!account) {
			kfree(queued);
			return NULL;
		}
		account->signals++;
	}
	list_init(&queued->link);
	queued->info = *info;
	queued->info.signo = sig;
	queued->fixed = false;
	queued->account = account;
	return queued;
}

/* Whether the signal has an effect. A tracer sees every signal, and a blocked one may get a handler later. */
static bool signal_matters(const struct task *task, int sig)
{
	if (task->trace.tracer && sig != SIGKILL)
		return true;
	return !signal_protects_init(task, sig) && ((task->blocked & SIGBIT(sig)) || !is_ignored(task, sig));
}

static bool task_takes_signals(const struct task *task)
{
	return task->state != TASK_DEAD && task->sighand;
}

void signal_task(struct task *task, int sig, const struct siginfo *info)
{
	if (!task_takes_signals(task))
		return;
	cancel_opposites(task->process, sig);
	if (!signal_matters(task, sig))
		return;
	add_to_thread(task, sig, queued_new(task->process, sig, info));
	signal_notice(task);
}

void signal_task_queued(struct task *task, struct sigqueued *queued)
{
	if (!task_takes_signals(task) || !signal_matters(task, queued->info.signo))
		return;
	add_to_thread(task, queued->info.signo, queued);
	signal_notice(task);
}

/*
 * The thread that must react to a new signal to the process; NULL: none. The search goes over all threads, so it comes
 * last: a timer whose signal is ignored or pending already expires again and again.
 */
static struct task *signal_receiver(struct process *process, int sig)
{
	struct task *task;

	if (!process->thread_count || process == cpus[0].idle->process)
		return NULL;
	cancel_opposites(process, sig);
	task = list_first_entry(&process->threads, struct task, group_link);
	if (!signal_matters(task, sig) || (sig < SIGRTMIN && sig != SIGKILL && process->pending.set & SIGBIT(sig)))
		return NULL;
	return signal_thread(process, sig);
}

void signal_process(struct process *process, int sig, const struct siginfo *info)
{
	struct task *task = signal_receiver(process, sig);

	if (!task)
		return;
	add_pending(&process->pending, sig, queued_new(process, sig, info));
	signal_notice(task);
	if (sig == SIGKILL)
		signal_wake_all(process);
}

void signal_process_queued(struct process *process, struct sigqueued *queued)
{
	struct task *task = signal_receiver(process, queued->info.signo);

	if (!task)
		return;
	add_pending(&process->pending, queued->info.signo, queued);
	signal_notice(task);
}

int signal_pgrp(s32 pgid, int sig, const struct siginfo *info)
{
	struct process *process;
	int result = -ESRCH;

	list_for_each_long(process, &process_list, all) {
		if (process->pgid == pgid && !process->zombie) {
			signal_process(process, sig, info);
			result = 0;
		}
	}
	return result;
}

void signal_kill(struct process *process)
{
	signal_process(process, SIGKILL, NULL);
}

/* A program cannot continue after a fault: if its handler is blocked or ignored, the signal kills it. */
void signal_fault(int sig, int code, uaddr_t addr)
{
	struct action *action = &current->sighand->action[sig - 1];
	struct siginfo info = { .signo = sig, .code = code, .fault.addr = addr };

	if ((current->blocked & SIGBIT(sig)) || action->handler == SIG_IGN) {
		action->handler = SIG_DFL;
		current->blocked &= ~SIGBIT(sig);
		current->process->blocked_by_all &= ~SIGBIT(sig);
	}
	if (action->handler == SIG_DFL && current->process == init_process)
		console_printf("init: signal %d at address 0x" ADDRESS_HEX "\n", sig, addr);
	add_to_thread(current, sig, queued_new(current->process, sig, &info));
	signal_recalculate(current);
}

/* Takes a signal from a pending set. Without queued siginfo, the kernel is the sender. */
static void signal_take(struct sigpending *pending, int sig, struct siginfo *info)
{
	struct sigqueued *queued, *found = NULL;
	u32 looked_at = 0;
	bool more = false;

	list_for_each_entry(queued, &pending->queue, link) {
		if (queued->info.signo >= SIGRTMIN)
			interrupt_window_at(++looked_at);
		if (queued->info.signo != sig)
			continue;
		more = found != NULL;
		if (more)
			break;
		found = queued;
		if (sig < SIGRTMIN)
			break;
	}
	if (!more)
		pending->set &= ~SIGBIT(sig);
	if (sig == SIGALRM)
		itimer_taken(current->process);
	if (!found) {
		*info = (struct siginfo){ .signo = sig, .code = SI_KERNEL };
		return;
	}
	if (found->fixed)
		posix_timer_taken(found);
	*info = found->info;
	signal_release(found);
}

static int signal_next(sigset set)
{
	if (set & SYNCHRONOUS)
		set &= SYNCHRONOUS;
	return __builtin_ctzll(set) + 1;
}

int signal_dequeue(sigset wanted, struct siginfo *info)
{
	struct sigpending *sources[] = { &current->pending, &current->process->pending };

	/* Take SIGKILL first: after a stop signal, the killed process would stop and not end. */
	if (signal_all_pending(current) & wanted & SIGBIT(SIGKILL))
		wanted = SIGBIT(SIGKILL);
	for (u32 i = 0; i < ARRAY_SIZE(sources); i++) {
		sigset set = sources[i]->set & wanted;

		if (set) {
			int sig = signal_next(set);

			signal_take(sources[i], sig, info);
			signal_recalculate(current);
			return sig;
		}
	}
	return 0;
}
