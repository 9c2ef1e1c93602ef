/*
 * Who meets whom. Of two threads the one that comes second moves the message; the first sleeps meanwhile, and finds
 * its wait ended when it runs. A call goes from sending to receiving without running in between, so that whoever
 * got the request can answer at once.
 */
#include <arch.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#include "rendezvous.h"

#define LOOK_AGAIN 1                    /* of a wait: nobody has ended it */

void rendezvous_init(struct task *task)
{
	list_init(&task->rendezvous.senders);
	list_init(&task->rendezvous.link);
}

static bool awaits(const struct task *receiver, const struct task *sender)
{
	const struct rendezvous *theirs = &receiver->rendezvous;

	return theirs->state == RENDEZVOUS_RECEIVING && (!theirs->partner || theirs->partner == sender) && !theirs->copier;
}

/* A wait ends, by its partner; with an error, what the thread holds goes nowhere. The thread does not run yet. */
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

/* current waits no more, by itself. */
static void withdraw(void)
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

/* Until the partner ends the wait: its result; -EINTR, -ETIMEDOUT, or LOOK_AGAIN. `next` may run first, or is NULL. */
static long rendezvous_wait(struct task *next, u64 deadline)
{
	struct rendezvous *mine = &current->rendezvous;
	bool limited = deadline != TIME_NEVER;
	long error = signal_pending() ? -EINTR : !deadline ? -EAGAIN :
		     limited && deadline <= time_now_ns() ? -ETIMEDOUT : 0;

	if (error) {
		if (next)
			task_wake(next);
		withdraw();
		return error;
	}
	mine->done = false;
	if (limited)
		timer_set(&current->sleep_timer, deadline);
	current->state = TASK_INTERRUPTIBLE;
	rendezvous_switch(next);
	if (limited)
		timer_cancel(&current->sleep_timer);
	if (mine->done)
		return mine->result;
	withdraw();
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
	return user_range_ok(mine->send, mine->send_size) && user_range_ok(mine->receive, mine->receive_size) ? 0 : -EFAULT;
}

/* As of now; 0 means at once. */
static u64 rendezvous_deadline(u32 microseconds)
{
	if (microseconds == RENDEZVOUS_FOREVER)
		return TIME_NEVER;
	return microseconds ? time_now_ns() + 1000ull * microseconds : 0;
}

static void pass_words(struct task *from, struct task *to)
{
	const struct regs *sent = task_regs(from);
	struct regs *received = task_regs(to);

	for (u32 i = ARGUMENT_WORDS; i < ARGUMENT_WORDS + 3; i++)
		regs_set_argument(received, i, regs_argument(sent, i));
	regs_set_argument(received, ARGUMENT_SIZE, from->rendezvous.buffers.send_size);
}

/* The thread of this number; else NULL and why. */
static struct task *rendezvous_find(s32 number, long *error)
{
	struct task *task = number > 0 ? task_find(number) : NULL;

	*error = number <= 0 || task == current ? -EINVAL : !task || task->rendezvous.ended ? -ESRCH : 0;
	return *error ? NULL : task;
}

/*
 * current's message to a receiver that waits for it; then the receiver's wait is over, and the caller sees to it that
 * it runs. An error of current's, or LOOK_AGAIN: the receiver waits no more.
 */
static long push(struct task *to)
{
	u32 n = MIN(current->rendezvous.buffers.send_size, to->rendezvous.buffers.receive_size);
	long error = 0, their_error = 0;

	if (n) {
		error = rendezvous_copy->push(to, n, &their_error);
		if (!current->rendezvous.copied)
			return error ? error : LOOK_AGAIN;
		if (error) {
			task_wake(to);          /* other senders may have come meanwhile */
			return error;
		}
	}
	pass_words(current, to);
	end_wait(to, their_error ? their_error : current->pid);
	return 0;
}

/* The message of a sender that waits. current's result: the sender's number, an error, or LOOK_AGAIN. */
static long pull(struct task *from)
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

/* Who waits to send to current; from NULL: the first of all. */
static struct task *waiting_sender(struct task *from)
{
	struct rendezvous *mine = &current->rendezvous;

	if (!from)
		return list_empty(&mine->senders) ? NULL :
						    list_first_entry(&mine->senders, struct task, rendezvous.link);
	return from->rendezvous.state == RENDEZVOUS_SENDING && from->rendezvous.partner == current ? from : NULL;
}

/* current's wait to receive is over: its memory may still be in the kernel. */
static long received(long result)
{
	struct rendezvous *mine = &current->rendezvous;

	if (mine->holds && rendezvous_take_held(MIN(regs_argument(task_regs(current), ARGUMENT_SIZE), mine->buffers.receive_size)))
		return -EFAULT;
	return result;
}

/*
 * From a thread, NULL: from anyone; the sender's number or an error. `woken`, or NULL, has got current's message and
 * is to run: at the latest when current waits.
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
			result = pull(sender);
		} else {
			if (from)
				from->rendezvous.sought = true;
			mine->partner = from;
			mine->state = RENDEZVOUS_RECEIVING;
			result = rendezvous_wait(woken, deadline);
			if (result != LOOK_AGAIN)
				return received(result);
		}
		if (result != LOOK_AGAIN)
			return result;
		/* Others have run: they may have ended. */
		woken = NULL;
		if (from && !(from = rendezvous_find(number, &result)))
			return result;
	}
}

/* current waits until `to` receives; in a call, goes on to wait for the answer: then the result is its sender. */
static long wait_to_send(struct task *to, u64 deadline, bool call)
{
	struct rendezvous *mine = &current->rendezvous;

	mine->partner = to;
	mine->call = call;
	mine->state = RENDEZVOUS_SENDING;
	to->rendezvous.sought |= call;
	list_add_tail(&mine->link, &to->rendezvous.senders);
	return rendezvous_wait(NULL, deadline);
}

/* Who waits for this very thread has agreed to hear of it; else the rule is that of signals. */
static long may_send(const struct task *to)
{
	return awaits(to, current) && to->rendezvous.partner ? 0 : signal_check_permission(to->process, 0);
}

/*
 * To the thread of this number; a deadline of 0 finds it waiting or fails. *woken: it waited, and is to run; or NULL,
 * and then a call may have got its answer: a positive result.
 */
static long rendezvous_send(s32 number, u64 deadline, bool call, struct task **woken)
{
	struct rendezvous *mine = &current->rendezvous;
	bool held = !mine->buffers.send_size;
	struct task *to;
	long error;

	*woken = NULL;
	for (;;) {
		to = rendezvous_find(number, &error);
		if (!error)
			error = may_send(to);
		if (error)
			break;
		if (awaits(to, current)) {
			mine->holds = false;
			error = push(to);
			if (error == LOOK_AGAIN)
				continue;
			*woken = error ? NULL : to;
			break;
		}
		if (!held && deadline) {
			error = rendezvous_copy->hold();
			if (error)
				break;
			held = true;            /* others may have run: the receiver is looked for again */
			continue;
		}
		error = wait_to_send(to, deadline, call);
		if (error != LOOK_AGAIN)
			return call ? received(error) : error;
		if (call && !mine->call) {
			to = rendezvous_find(number, &error);
			return error ? error : rendezvous_receive(to, deadline, NULL);
		}
		held = !mine->buffers.send_size;
	}
	mine->holds = false;
	return error;
}

long sys_ipc_send(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	struct task *woken;
	long error = load_buffers(buffers);

	(void)word0, (void)word1, (void)word2;  /* they stay in the saved registers */
	if (!error)
		error = rendezvous_send(to, rendezvous_deadline(timeout), false, &woken);
	if (!error && woken)
		task_wake(woken);
	return error;
}

long sys_ipc_receive(s32 from, const struct ipc_buffers *buffers, u32 timeout)
{
	struct task *task = NULL;
	long error = load_buffers(buffers);

	if (!error && from)
		task = rendezvous_find(from, &error);
	return error ? error : rendezvous_receive(task, rendezvous_deadline(timeout), NULL);
}

static long call_generally(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	u64 deadline = rendezvous_deadline(timeout);
	struct task *woken;
	long result = load_buffers(buffers);

	(void)word0, (void)word1, (void)word2;
	if (!result)
		result = rendezvous_send(to, deadline, true, &woken);
	return result ? result : rendezvous_receive(woken, deadline, woken);
}

static long reply_wait_generally(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1,
				 u32 word2)
{
	struct task *woken = NULL;
	long error = load_buffers(buffers);

	(void)word0, (void)word1, (void)word2;
	if (!error && to)
		error = rendezvous_send(to, 0, false, &woken);
	return error ? error : rendezvous_receive(NULL, rendezvous_deadline(timeout), woken);
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

	withdraw();
	if (from)
		task = rendezvous_find(from, &error);
	return error ? error : rendezvous_receive(task, TIME_NEVER, NULL);
}

void rendezvous_exit(void)
{
	struct rendezvous *mine = &current->rendezvous;
	struct process *process;
	struct task *task, *next;

	mine->ended = true;
	kfree(mine->held);
	mine->held = NULL;
	list_for_each_entry_safe(task, next, &mine->senders, rendezvous.link) {
		end_wait(task, -ESRCH);
		task_wake(task);
	}
	if (!mine->sought)
		return;
	list_for_each_entry(process, &process_list, all) {
		list_for_each_entry(task, &process->threads, group_link) {
			if (task->rendezvous.state == RENDEZVOUS_RECEIVING && task->rendezvous.partner == current) {
				end_wait(task, -ESRCH);
				task_wake(task);
			}
		}
	}
}
