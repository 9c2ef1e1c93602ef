/*
 * Short messages at the gate of system calls (gate.S), for policy ipc.path: two threads that have exchanged a message
 * are noted as a pair in the blocks at the top of their stacks, if all is so that the next message needs few checks.
 * Whatever ends that forgets all pairs.
 */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <syscall.h>
#include <task.h>

#include "internal.h"

enum message_form message_form;

int message_choose(u32 form)
{
	message_form = (enum message_form)form;
	return 0;
}

static struct message_block *block_of(const struct task *task)
{
	return (struct message_block *)task->arch.stack_top;
}

/* Turns, priorities, segments, permissions and senders that need no look until message_forget(). */
static bool is_simple(const struct task *task)
{
	const struct regs *regs = task_regs((struct task *)task);

	return task->arch.root && !task->run_priority && turn_left(task) > 0 && this_cpu()->arch.fpu_owner != task &&
	       regs->ds == USER_DS && regs->es == USER_DS && list_empty(&task->rendezvous.senders);
}

#define is_pair(from, to) \
	(this_cpu()->arch.fpu_refuses && is_simple(from) && is_simple(to) && \
	 (from)->arch.segments == (to)->arch.segments)

/* A task accepts no message while it runs, so that no message passes to itself. */
static void block_clear(struct task *task)
{
	struct message_block *block = block_of(task);

	block->task = block->peer = task;
	block->number = 0;
}

static void block_set(struct task *task, struct task *peer)
{
	block_of(task)->number = peer->pid;
	block_of(task)->peer = peer;
}

static u32 *block_passed(struct task *task)
{
	return &block_of(task)->passed;
}

static void gate_bind(void)
{
	calls_bind();
}

#include <message_pairs.h>

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
	regs->error = mine->partner ? SYSCALL_IPC_CALL : SYSCALL_IPC_REPLY_WAIT;
	if (!received) {
		regs->ecx = 0;
		regs->esi = block->esi;
		regs->edi = block->edi;
		regs->ebp = block->ebp;
	}
	regs->eax = (u32)(received ? mine->result : rendezvous_receive_again(number));
}
