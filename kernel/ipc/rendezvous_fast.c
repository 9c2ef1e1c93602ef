/*
 * The shortest way of a message (policy ipc.path): words alone, no time limit, a receiver that waits for them already,
 * and nothing else that wants to be looked at. All is checked before anything is changed; what is not so goes the
 * general way, which does the same for every case.
 */
#include <arch.h>
#include <lib.h>
#include <process.h>
#include <task.h>

#include "rendezvous.h"

u64 rendezvous_fast;

/* A thread that waits for a message, which current may give it; NULL: it goes the general way. */
static inline struct task *rendezvous_receiver(s32 number, const struct ipc_buffers *buffers, u32 timeout)
{
	struct task *to;

	if (buffers || timeout != RENDEZVOUS_FOREVER || current->work)
		return NULL;
	to = task_find(number);
	if (!to || to->rendezvous.state != RENDEZVOUS_RECEIVING || to->rendezvous.copier)
		return NULL;
	if (to->rendezvous.partner != current &&
	    (to->rendezvous.partner || signal_check_permission(to->process, 0)))
		return NULL;
	return to;
}

/* The words to a receiver; current then waits for a message of `from`, NULL: of anyone. */
static inline long rendezvous_exchange(struct task *to, struct task *from, u32 word0, u32 word1, u32 word2)
{
	struct rendezvous *mine = &current->rendezvous, *theirs = &to->rendezvous;
	s32 number = from ? from->pid : 0;
	struct regs *received = task_regs(to);

	/* The point of no return. */
	regs_set_argument(received, ARGUMENT_SIZE, 0);
	regs_set_argument(received, ARGUMENT_WORDS, word0);
	regs_set_argument(received, ARGUMENT_WORDS + 1, word1);
	regs_set_argument(received, ARGUMENT_WORDS + 2, word2);
	theirs->state = RENDEZVOUS_NONE;
	theirs->result = current->pid;
	theirs->done = true;
	mine->buffers.send_size = mine->buffers.receive_size = 0;
	mine->partner = from;
	mine->state = RENDEZVOUS_RECEIVING;
	mine->done = false;
	rendezvous_fast++;
	current->state = TASK_INTERRUPTIBLE;
	rendezvous_switch(to);
	return mine->done ? mine->result : rendezvous_receive_again(number);
}

static long call(s32 number, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	struct task *to = rendezvous_receiver(number, buffers, timeout);

	if (!to)
		return rendezvous_path_general.call(number, buffers, timeout, word0, word1, word2);
	to->rendezvous.sought = true;
	return rendezvous_exchange(to, to, word0, word1, word2);
}

static long reply_wait(s32 number, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	struct task *to = rendezvous_receiver(number, buffers, timeout);

	if (!to || !list_empty(&current->rendezvous.senders))
		return rendezvous_path_general.reply_wait(number, buffers, timeout, word0, word1, word2);
	return rendezvous_exchange(to, NULL, word0, word1, word2);
}

const struct rendezvous_path rendezvous_path_fast = { call, reply_wait };
