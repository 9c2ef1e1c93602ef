/*
 * The fast path of a message (policy ipc.path): only words, no time limit, a receiver that already waits, and no other
 * work pending. It checks everything before it changes anything. All other cases take the general path, which would
 * give the same result in this case too.
 */
#include <arch.h>
#include <arch/message.h>
#include <process.h>
#include <task.h>

#include "rendezvous.h"

u64 rendezvous_fast;

/* The waiting receiver that current may send to; NULL: take the general path. */
static inline struct task *rendezvous_receiver(s32 number, const struct ipc_buffers *buffers, u32 timeout)
{
	struct task *task;

	if (buffers || timeout != RENDEZVOUS_FOREVER || current->work)
		return NULL;
	task = task_find(number);
	if (!task || task->rendezvous.state != RENDEZVOUS_RECEIVING || task->rendezvous.copier)
		return NULL;
	if (task->rendezvous.partner != current &&
	    (task->rendezvous.partner || signal_check_permission(task->process, 0)))
		return NULL;
	return task;
}

/* Sends the words to a receiver; current then waits for a message of `from` (NULL: any). */
static inline long rendezvous_exchange(struct task *task, struct task *from, u32 word0, u32 word1, u32 word2)
{
	struct rendezvous *mine = &current->rendezvous, *theirs = &task->rendezvous;
	s32 number = from ? from->pid : 0;
	struct regs *received = task_regs(task);

	/* The point of no return: nothing fails after it. */
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
	message_wait_begin(task, from);
	rendezvous_switch(task);
	return mine->done ? mine->result : rendezvous_receive_again(number);
}

static long call_fast(s32 number, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	struct task *task = rendezvous_receiver(number, buffers, timeout);

	if (!task)
		return rendezvous_path_general.call(number, buffers, timeout, word0, word1, word2);
	task->rendezvous.sought = true;
	return rendezvous_exchange(task, task, word0, word1, word2);
}

static long reply_wait_fast(s32 number, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2)
{
	struct task *task = rendezvous_receiver(number, buffers, timeout);

	if (!task || !list_empty(&current->rendezvous.senders))
		return rendezvous_path_general.reply_wait(number, buffers, timeout, word0, word1, word2);
	return rendezvous_exchange(task, NULL, word0, word1, word2);
}

const struct rendezvous_path rendezvous_path_fast = { call_fast, reply_wait_fast };
