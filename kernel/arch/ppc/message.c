/*
 * Short messages at the gate of system calls (gate.S), for policy ipc.path: two threads that have exchanged a message
 * are noted as a pair in their struct arch_task, if all is so that the next message needs few checks. Whatever ends
 * that forgets all pairs.
 */
#include <arch.h>
#include <arch/entry.h>
#include <arch/message.h>
#include <errno.h>
#include <syscall.h>
#include <task.h>

static u32 arch_pa(struct task *task)
{
	return kva_pa(&task->arch);
}

/* A task accepts no message while it runs, so that no message passes to itself. */
static void block_clear(struct task *task)
{
	task->arch.peer_pa = arch_pa(task);
	task->arch.peer_number = 0;
}

static void block_set(struct task *task, struct task *peer)
{
	task->arch.peer_pa = arch_pa(peer);
	task->arch.peer_number = peer->pid;
}

static u32 *block_passed(struct task *task)
{
	return &task->arch.passed;
}

/* Turns, priorities, permissions and senders that need no look until message_forget(). */
static bool is_simple(const struct task *task)
{
	return task->mm && !task->run_priority && turn_left(task) > 0 && list_empty(&task->rendezvous.senders);
}

static bool is_pair(const struct task *from, const struct task *to)
{
	return is_simple(from) && is_simple(to);
}

static void gate_bind(void)
{
	entry_bind_messages(messages_direct());
}

int message_choose(u32 form)
{
	return form ? -ENODEV : 0;
}

#include <message_pairs.h>

/* While messages pass at the gate, both calls have saved all of the program's registers (entry.S, syscall_message). */
void message_wait_begin(struct task *next, struct task *from)
{
	if (!messages_direct())
		return;
	note_pair(current, next);
	current->arch.accepts = !is_simple(current) ? 0 : from ? arch_pa(from) : MESSAGE_FROM_ANYONE;
}

/*
 * Makes the registers what the ordinary entry and the general path would have left. If there was a message, its sender
 * has written words and size.
 */
void message_go_on(struct regs *regs)
{
	struct rendezvous *mine = &current->rendezvous;
	bool received = mine->state == RENDEZVOUS_NONE;
	s32 number = !received && mine->partner ? mine->partner->pid : 0;
	u32 result;

	regs->gpr[0] = mine->partner ? SYSCALL_IPC_CALL : SYSCALL_IPC_REPLY_WAIT;
	regs->gpr[5] = RENDEZVOUS_FOREVER;
	regs->trap = TRAP_SYSCALL;
	regs->ctr = regs->xer = regs->mq = regs->result = 0;
	for (u32 i = 9; i <= 12; i++)
		regs->gpr[i] = 0;
	if (!received)
		regs->gpr[4] = 0;
	result = (u32)(received ? mine->result : rendezvous_receive_again(number));
	regs_set_result(regs, result);
}
