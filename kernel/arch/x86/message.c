/*
 * Short messages at the gate of system calls (gate.S), for policy ipc.path: two threads that have exchanged a message
 * are noted as a pair in the blocks at the top of their stacks, if all is so that the next message needs few checks.
 * Whatever ends that forgets all pairs.
 */
#include <arch/message.h>
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <process.h>
#include <syscall.h>
#include <task.h>

#include "internal.h"

static u32 conditions_met = MESSAGE_BY_QUEUE;
static struct task *noted_tasks[8];   /* those in a pair */
static u32 noted_count;

static struct message_block *block_of(const struct task *task)
{
	return (struct message_block *)task->arch.stack_top;
}

/* A task accepts no message while it runs, so that no message passes to itself. */
static void block_clear(struct task *task)
{
	struct message_block *block = block_of(task);

	block->task = block->peer = task;
	block->number = 0;
}

void message_init(struct task *task)
{
	block_clear(task);
	block_of(task)->passed = 0;
}

/* Only tasks in a pair have messages that are not counted yet. */
void messages_account(void)
{
	for (u32 i = 0; i < noted_count; i++) {
		u32 *passed = &block_of(noted_tasks[i])->passed;

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

/* Turns, priorities, segments, permissions and senders that need no look until message_forget(). */
static bool is_simple(const struct task *task)
{
	const struct regs *regs = task_regs((struct task *)task);

	return task->arch.root && !task->run_priority && task->slice > 0 && this_cpu()->arch.fpu_owner != task &&
	       regs->ds == USER_DS && regs->es == USER_DS && list_empty(&task->rendezvous.senders);
}

static void note_pair(struct task *from, struct task *to)
{
	if (!this_cpu()->arch.fpu_refuses || !is_simple(from) || !is_simple(to) ||
	    from->arch.segments != to->arch.segments || !permits_sender(from, to) || !permits_sender(to, from))
		return;
	if (noted_count + 2 > ARRAY_SIZE(noted_tasks))
		message_forget();
	note_task(from);
	note_task(to);
	from->rendezvous.sought = to->rendezvous.sought = true;
	block_of(from)->number = to->pid;
	block_of(from)->peer = to;
	block_of(to)->number = from->pid;
	block_of(to)->peer = from;
}

bool messages_direct(void)
{
	return conditions_met == MESSAGE_ALL;
}

void message_allow(u32 what, bool on)
{
	conditions_met = on ? conditions_met | what : conditions_met & ~what;
	if (!messages_direct())
		message_forget();
	calls_bind();
}

void message_wait_begin(struct task *next, struct task *from)
{
	if (!messages_direct())
		return;
	note_pair(current, next);
	block_of(current)->ebx = task_regs(current)->ebx;
	current->arch.accepts = !is_simple(current) ? 0 : from ? (u32)from : MESSAGE_FROM_ANYONE;
}

/*
 * Makes the registers what the ordinary entry and the general path would have left. If there was a message, its sender
 * has written words and size.
 */
void message_go_on(struct regs *regs)
{
	struct rendezvous *mine = &current->rendezvous;
	const struct message_block *block = block_of(current);
	bool received = mine->state == RENDEZVOUS_NONE;
	s32 number = !received && mine->partner ? mine->partner->pid : 0;

	regs->ebx = block->ebx;
	regs->edx = RENDEZVOUS_FOREVER;
	regs->ds = regs->es = USER_DS;
	regs->trap = TRAP_SYSCALL;
	regs->error = number ? SYSCALL_IPC_CALL : SYSCALL_IPC_REPLY_WAIT;
	if (!received) {
		regs->ecx = 0;
		regs->esi = block->esi;
		regs->edi = block->edi;
		regs->ebp = block->ebp;
	}
	regs->eax = (u32)(received ? mine->result : rendezvous_receive_again(number));
}
