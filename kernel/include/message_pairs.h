/*
 * Pairs of threads whose messages pass at the gate of system calls (policy ipc.path): the part that architectures
 * share. An architecture's message.c, which alone includes it, first defines
 *
 *	block_clear(task)               messages of the task pass to nobody
 *	block_set(task, peer)           they pass to peer
 *	block_passed(task)              where its messages are counted
 *	is_pair(from, to)               whether all is so that the next message needs few checks
 *	gate_bind()                     called when messages_direct() may have changed
 */
#ifndef MESSAGE_PAIRS_H
#define MESSAGE_PAIRS_H
#include <cpu.h>
#include <lib.h>
#include <process.h>
#include <task.h>

static u32 conditions_met = MESSAGE_AT_BOOT;
static struct task *noted_tasks[8];   /* tasks that are in a pair */
static u32 noted_count;

void message_init(struct task *task)
{
	block_clear(task);
	*block_passed(task) = 0;
}

/* Only tasks in a pair have messages that are not counted yet. */
void messages_account(void)
{
	for (u32 i = 0; i < noted_count; i++) {
		u32 *passed = block_passed(noted_tasks[i]);

		noted_tasks[i]->voluntary_switches += *passed;
		this_cpu()->context_switches += *passed;
		rendezvous_fast += *passed;
		rendezvous_direct += *passed;
		*passed = 0;
	}
}

void message_forget(void)
{
	messages_account();
	while (noted_count)
		block_clear(noted_tasks[--noted_count]);
}

void message_check_turns(void)
{
	messages_account();
	for (u32 i = 0; i < noted_count; i++)
		if (turn_left(noted_tasks[i]) <= 0) {
			message_forget();
			return;
		}
}

static void note_task(struct task *task)
{
	for (u32 i = 0; i < noted_count; i++)
		if (noted_tasks[i] == task)
			return;
	noted_tasks[noted_count++] = task;
}

static bool permits_sender(const struct task *from, const struct task *to)
{
	const struct credentials *mine = &from->cred, *theirs = &to->process->leader->cred;

	return !mine->euid || mine->euid == theirs->suid || mine->euid == theirs->uid || mine->uid == theirs->suid ||
	       mine->uid == theirs->uid;
}

/* Notes the two, if turns, priorities, permissions and senders need no look until message_forget(). */
static void note_pair(struct task *from, struct task *to)
{
	if (!is_pair(from, to) || !permits_sender(from, to) || !permits_sender(to, from))
		return;
	if (noted_count + 2 > ARRAY_SIZE(noted_tasks))
		message_forget();
	note_task(from);
	note_task(to);
	from->rendezvous.sought = to->rendezvous.sought = true;
	block_set(from, to);
	block_set(to, from);
}

bool messages_direct(void)
{
	return conditions_met == MESSAGE_NEEDED;
}

void message_allow(u32 what, bool on)
{
	conditions_met = on ? conditions_met | what : conditions_met & ~what;
	if (!messages_direct())
		message_forget();
	gate_bind();
}

#endif
