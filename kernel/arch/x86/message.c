/*
 * Short messages at the gate of system calls (gate.S), for policy ipc.path: two threads that have exchanged a message
 * are noted as a pair in the blocks at the top of their stacks, if all is so that the next message needs few checks.
 * Whatever ends that forgets all pairs.
 */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <window.h>

#include "internal.h"

enum message_form message_form;

/*
 * The gate no longer finds threads that wait already: the new form might lack what the old form relied on. They wait
 * on, for a message by the general path.
 */
int message_choose(u32 form)
{
	struct process *process;
	struct task *task;

	if (form == message_form)
		return 0;
	message_forget();
	for_each_task_window(process, task)
		task->arch.accepts = 0;
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

/* Where the sender runs on (gate_calls.S), the receiver waits in the queue of tasks of usual urgency, the same. */
#define is_pair(from, to) \
	(this_cpu()->arch.fpu_refuses && is_simple(from) && is_simple(to) && \
	 (from)->arch.segments == (to)->arch.segments && \
	 (message_form != MESSAGE_FORM_CALLS || \
	  ((from)->rank < 2 * NICE_IDLE && !(((from)->rank ^ (to)->rank) & ~RANK_COMPUTES))))

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

/* Whether all that current waits for is a message that the form passes at the gate, with nothing to undo in C. */
static bool waits_plainly(void)
{
	const struct rendezvous *mine = &current->rendezvous;
	const struct regs *regs = task_regs(current);
	u32 room = message_form == MESSAGE_FORM_MEMORY ? MESSAGE_BYTES : 0;

	return messages_direct() && mine->state == RENDEZVOUS_RECEIVING && mine->buffers.receive_size == room &&
	       regs->trap == TRAP_SYSCALL && regs->edx == RENDEZVOUS_FOREVER;
}

/*
 * The direct switch of the forms whose messages the path in rendezvous_fast.c does not pass. Threads come to wait for
 * them by the general path. A message at the gate then takes such a thread out of C, or (gate_calls.S) makes it ready.
 */
CAUSE(switch) void message_switch_noting(struct task *next)
{
	struct task *from = current->rendezvous.partner;

	if (waits_plainly()) {
		if (next || from)
			note_pair(current, next ? next : from);
		block_of(current)->ebx = task_regs(current)->ebx;
		current->arch.accepts = !is_simple(current) ? 0 : from ? (u32)from : MESSAGE_FROM_ANYONE;
	}
	rendezvous_switch_direct(next);
	message_wait_over(current);
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
	message_wait_over(current);
	if (!received) {
		regs->ecx = mine->buffers.receive_size ? (u32)mine->buffers.send : 0;
		regs->esi = block->esi;
		regs->edi = block->edi;
		regs->ebp = block->ebp;
	}
	regs->eax = (u32)rendezvous_go_on(received, number);
}

void message_go_on_receiving(struct regs *regs)
{
	message_go_on(regs);
	regs->error = SYSCALL_IPC_RECEIVE;
}
