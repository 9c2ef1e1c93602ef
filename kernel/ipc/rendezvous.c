/*
 * Synchronous messages. The second of two threads to arrive copies the message and ends the wait of the first, which
 * sleeps. When a call's request has been received, the caller waits for the answer without having run in between, so
 * that the receiver can answer at once.
 */
#include <arch.h>
#include <arch/message.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <window.h>

#include "rendezvous.h"

#define LOOK_AGAIN 1                    /* no partner ended the wait: check again */

static bool awaits_sender(const struct task *receiver, const struct task *sender)
{
	const struct rendezvous *theirs = &receiver->rendezvous;

	return theirs->state == RENDEZVOUS_RECEIVING && (!theirs->partner || theirs->partner == sender) &&
		!theirs->copier;
}

/*
 * Ends a thread's wait on behalf of its partner; with an error, drops the message that it holds. Does not make the
 * thread run.
 */
static void end_wait(struct task *task, long result)
{
	struct rendezvous *theirs = &task->rendezvous;

	list_del(&theirs->link);
	if (result < 0)
		theirs->holds = false;
	theirs->state = RENDEZVOUS_NONE;
	theirs->result = result;
	theirs->done = true;
}

/* Ends current's own wait. */
static void rendezvous_withdraw(void)
{
	struct rendezvous *mine = &current->rendezvous;

	list_del(&mine->link);
	mine->state = RENDEZVOUS_NONE;
	mine->holds = false;
	if (mine->copier) {
		mine->copier->rendezvous.copied = NULL;
		mine->copier = NULL;
	}
}

/*
 * Sleeps until the partner ends the wait. Returns the result that the partner set, -EINTR, -ETIMEDOUT, or LOOK_AGAIN.
 * `next`, if not NULL, is a thread that should run now.
 */
static long rendezvous_wait(struct task *next, u64 deadline)
{
	struct rendezvous *mine = &current->rendezvous;
	bool limited = deadline != TIME_NEVER;
	long error = signal_pending() ? -EINTR : !deadline ? -EAGAIN :
		     limited && deadline <= time_now_ns() ? -ETIMEDOUT : 0;

	if (error) {
		if (next)
			task_wake(next);
		rendezvous_withdraw();
		return error;
	}
	mine->done = false;
	if (limited)
		sched_limit_wait(deadline);
	current->state = TASK_INTERRUPTIBLE;
	rendezvous_switch(next);
	if (limited)
		sched_limit_end();
	if (mine->done)
		return mine->result;
	rendezvous_withdraw();
	return LOOK_AGAIN;
}

static long load_buffers(const struct ipc_buffers *user)
{
	struct ipc_buffers *mine = &current->rendezvous.buffers;

	if (!user) {
		mine->send_size = mine->receive_size = 0;
		return 0;
	}
	if (copy_from_user(mine, user, sizeof(*mine)))
		return -EFAULT;
	if (mine->send_size > RENDEZVOUS_BYTES_MOST)
		return -EMSGSIZE;
	return user_range_ok(mine->send, mine->send_size) &&
		user_range_ok(mine->receive, mine->receive_size) ? 0 : -EFAULT;
}

/* The deadline from now; 0: do not wait. */
static u64 rendezvous_deadline(u32 microseconds)
{
	if (microseconds == RENDEZVOUS_FOREVER)
		return TIME_NEVER;
	return microseconds ? time_now_ns() + 1000ull * microseconds : 0;
}

static void pass_words(struct task *from, struct task *task)
{
	const struct regs *sent = task_regs(from);
	struct regs *received = task_regs(task);

	for (u32 i = ARGUMENT_WORDS; i < ARGUMENT_WORDS + 3; i++)
		regs_set_argument(received, i, regs_argument(sent, i));
	regs_set_argument(received, ARGUMENT_SIZE, from->rendezvous.buffers.send_size);
}

/* Finds the thread of this number; if there is none, returns NULL and sets *error. */
static struct task *rendezvous_find(s32 number, long *error)
{
	struct task *task = number > 0 ? task_find(number) : NULL;

	*error = number <= 0 || task == current ? -EINVAL : !task || task->rendezvous.ended ? -ESRCH : 0;
	return *error ? NULL : task;
}

/*
 * Copies current's message to a waiting receiver and ends its wait; the caller makes it run. Returns current's error,
 * or LOOK_AGAIN: the receiver has stopped waiting.
 */
static long rendezvous_push(struct task *task)
{
	u32 n = MIN(current->rendezvous.buffers.send_size, task->rendezvous.buffers.receive_size);
	long error = 0, their_error = 0;

	if (n) {
		error = rendezvous_copy->push(task, n, &their_error);
		if (!current->rendezvous.copied)
			return error ? error : LOOK_AGAIN;
		if (error) {
			task_wake(task);          /* other senders may have arrived meanwhile */
			return error;
		}
	}
	pass_words(current, task);
	end_wait(task, their_error ? their_error : current->pid);
	return 0;
}

/* Copies the message of a waiting sender. Returns the sender's number, an error, or LOOK_AGAIN. */
static long rendezvous_receive_from(struct task *from)
{
	struct rendezvous *theirs = &from->rendezvous;
	u32 n = MIN(theirs->buffers.send_size, current->rendezvous.buffers.receive_size);
	long error = 0, their_error = 0;

	if (n) {
		error = rendezvous_pull(from, n, &their_error);
		if (!current->rendezvous.copied)
			return error ? error : LOOK_AGAIN;
		if (their_error) {
			end_wait(from, their_error);
			task_wake(from);
			return LOOK_AGAIN;
		}
	}
	pass_words(from, current);
	theirs->holds = false;
	if (theirs->call) {
		list_del(&theirs->link);
		theirs->state = RENDEZVOUS_RECEIVING;
		theirs->call = false;
	} else {
		end_wait(from, 0);
		task_wake(from);
	}
	return error ? error : from->pid;
}

/* A sender waiting for current: `from`, or (NULL) the first of all. */
static struct task *waiting_sender(struct task *from)
{
	struct rendezvous *mine = &current->rendezvous;

	if (!from)
		return list_empty(&mine->senders) ? NULL :
						    list_first_entry(&mine->senders, struct task, rendezvous.link);
	return from->rendezvous.state == RENDEZVOUS_SENDING && from->rendezvous.partner == current ? from : NULL;
}

/* Ends current's wait to receive: copies memory that the kernel still holds. */
static long rendezvous_received(long result)
{
	struct rendezvous *mine = &current->rendezvous;

	if (mine->holds &&
	    rendezvous_take_held(MIN(regs_argument(task_regs(current), ARGUMENT_SIZE), mine->buffers.receive_size)))
		return -EFAULT;
	return result;
}

/*
 * Receives from `from` (NULL: any); returns the sender's number or an error. `woken`, or NULL, has got current's
 * message and must run, at the latest when current waits.
 */
static long rendezvous_receive(struct task *from, u64 deadline, struct task *woken)
{
	struct rendezvous *mine = &current->rendezvous;
	s32 number = from ? from->pid : 0;
	long result = 0;

	for (;;) {
		struct task *sender = waiting_sender(from);

		if (sender) {
			if (woken)
				task_wake(woken);
			result = rendezvous_receive_from(sender);
		} else {
			if (from)
				from->rendezvous.sought = true;
			mine->partner = from;
			mine->state = RENDEZVOUS_RECEIVING;
			result = rendezvous_wait(woken, deadline);
			if (result != LOOK_AGAIN)
				return rendezvous_received(result);
		}
		if (result != LOOK_AGAIN)
			return result;
		/* Other threads have run, and `woken` may have ended. */
		woken = NULL;
		if (from && !(from = rendezvous_find(number, &result)))
			return result;
	}
}

/* Waits until `to` receives; a call then waits for the answer, and returns its sender. */
static long wait_to_send(struct task *task, u64 deadline, bool call)
{
	struct rendezvous *mine = &current->rendezvous;

	message_forget();
	mine->partner = task;
	mine->call = call;
	mine->state = RENDEZVOUS_SENDING;
	task->rendezvous.sought |= call;
	list_add_tail(&mine->link, &task->rendezvous.senders);
	return rendezvous_wait(NULL, deadline);
}

/* 0 or -EPERM. A thread that waits for current accepts its message; any other must be one that current may signal. */
static long may_send(const struct task *task)
{
	return awaits_sender(task, current) && task->rendezvous.partner ? 0 : signal_check_permission(task->process, 0);
}

/*
 * Sends to the thread of this number; with a deadline of 0 the thread must be waiting. *woken: the receiver, which
 * must run; NULL: it did not wait, and a call may already have its answer, a positive result.
 */
static long rendezvous_send(s32 number, u64 deadline, bool call, struct task **woken)
{
	struct rendezvous *mine = &current->rendezvous;
	bool held = !mine->buffers.send_size;
	struct task *task;
	long error;

	*woken = NULL;
	for (;;) {
		task = rendezvous_find(number, &error);
		if (!error)
			error = may_send(task);
		if (error)
			break;
		if (awaits_sender(task, current)) {
			mine->holds = false;
			error = rendezvous_push(task);
			if (error == LOOK_AGAIN)
				continue;
			*woken = error ? NULL : task;
			break;
		}
		if (!held && deadline) {
			error = rendezvous_copy->hold();
			if (error)
				break;
			held = true;            /* other threads may have run: look up the receiver again */
			continue;
		}
		error = wait_to_send(task, deadline, call);
		if (error != LOOK_AGAIN)
			return call ? rendezvous_received(error) : error;
		if (call && !mine->call) {
			task = rendezvous_find(number, &error);
			return error ? error : rendezvous_receive(task, deadline, NULL);
		}
		held = !mine->buffers.send_size;
	}
	mine->holds = false;
	return error;
}

/*
 * The result of a call. Later messages may begin without load_buffers() (arch/message.h), and find no memory then.
 */
static long call_finished(long result)
{
	current->rendezvous.buffers.send_size = current->rendezvous.buffers.receive_size = 0;
	return result;
}

long sys_ipc_send(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	struct task *woken;
	long error = load_buffers(buffers);

	(void)word0, (void)word1, (void)word2;  /* the words stay in the saved registers */
	if (!error)
		error = rendezvous_send(to, rendezvous_deadline(timeout), false, &woken);
	if (!error && woken)
		task_wake(woken);
	return call_finished(error);
}

long sys_ipc_receive(s32 from, const struct ipc_buffers *buffers, u32 timeout)
{
	struct task *task = NULL;
	long error = load_buffers(buffers);

	if (!error && from)
		task = rendezvous_find(from, &error);
	return call_finished(error ? error : rendezvous_receive(task, rendezvous_deadline(timeout), NULL));
}

static long call_generally(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	u64 deadline = rendezvous_deadline(timeout);
	struct task *woken;
	long result = load_buffers(buffers);

	(void)word0, (void)word1, (void)word2;
	if (!result)
		result = rendezvous_send(to, deadline, true, &woken);
	return call_finished(result ? result : rendezvous_receive(woken, deadline, woken));
}

static long reply_wait_generally(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1,
				 u32 word2)
{
	struct task *woken = NULL;
	long error = load_buffers(buffers);

	(void)word0, (void)word1, (void)word2;
	if (!error && to)
		error = rendezvous_send(to, 0, false, &woken);
	return call_finished(error ? error : rendezvous_receive(NULL, rendezvous_deadline(timeout), woken));
}

const struct rendezvous_path rendezvous_path_general = { call_generally, reply_wait_generally };
const struct rendezvous_path *rendezvous_path = &rendezvous_path_general;

long sys_ipc_call(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	return rendezvous_path->call(to, buffers, timeout, word0, word1, word2);
}

long sys_ipc_reply_wait(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	return rendezvous_path->reply_wait(to, buffers, timeout, word0, word1, word2);
}

long rendezvous_receive_again(s32 from)
{
	struct task *task = NULL;
	long error = 0;

	rendezvous_withdraw();
	if (from)
		task = rendezvous_find(from, &error);
	return error ? error : rendezvous_receive(task, TIME_NEVER, NULL);
}

long rendezvous_go_on(bool received, s32 from)
{
	return call_finished(received ? rendezvous_received(current->rendezvous.result) :
					rendezvous_receive_again(from));
}

void rendezvous_exit(void)
{
	struct rendezvous *mine = &current->rendezvous;
	struct process *process;
	struct task *task, *next;

	message_forget();
	mine->ended = true;
	kfree(mine->held);
	mine->held = NULL;
	list_for_each_entry_safe(task, next, &mine->senders, rendezvous.link) {
		end_wait(task, -ESRCH);
		task_wake(task);
	}
	if (!mine->sought)
		return;
	for_each_task_window(process, task)
		if (task->rendezvous.state == RENDEZVOUS_RECEIVING && task->rendezvous.partner == current) {
			end_wait(task, -ESRCH);
			task_wake(task);
		}
}
