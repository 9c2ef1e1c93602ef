/* Short messages at the gate of system calls (gate.S), and what the rest of the kernel tells of them. */
#ifndef ARCH_MESSAGE_H
#define ARCH_MESSAGE_H
#include <types.h>

struct regs;
struct task;

/* At the top of a kernel stack, above what the processor pushes. */
struct message_block {
	struct task *task;              /* that the stack is of */
	s32 number;                     /* of the thread that messages pass to without further looks; 0: of none */
	struct task *peer;              /* that thread; else the stack's own */
	u32 ebx, esi, edi, ebp;         /* of the program that waits at the gate */
	u32 passed;                     /* messages that it has sent so, since messages_account() */
};

/* What must be so for messages to pass at the gate: bits for message_allow(). */
#define MESSAGE_FAST      1u    /* ipc.path=fast */
#define MESSAGE_TO_PEER   2u    /* ipc.switch=direct */
#define MESSAGE_BY_QUEUE  4u    /* not ready.queue=full: a direct switch leaves the queue as it is */
#define MESSAGE_LAST_TIME 8u    /* switch.time=last: what a thread runs is charged at ticks */
#define MESSAGE_ALL       15u
#define MESSAGE_BY_LAZY   16u   /* ready.queue=lazy: the queue may hold the running thread and those that wait */
#define MESSAGE_AT_BOOT   MESSAGE_BY_QUEUE
/*
 * The forms of the path at the gate. FAST: with all techniques. APART: the same in another page. The rest are in that
 * page too, and each lacks one technique (gate_without.S, gate_calls.S, gate_memory.S).
 */
enum message_form {
	MESSAGE_FORM_FAST, MESSAGE_FORM_APART, MESSAGE_FORM_LOAD, MESSAGE_FORM_QUEUE,
	MESSAGE_FORM_CALLS, MESSAGE_FORM_MEMORY,        /* threads come to wait for their messages in C (message.c) */
};
extern enum message_form message_form;
/*
 * The form without lazy scheduling is for the ready queue that the others exclude. That with four calls leaves in the
 * queue whom it switches to.
 */
#define MESSAGE_NEEDED ((message_form == MESSAGE_FORM_QUEUE ? MESSAGE_ALL & ~MESSAGE_BY_QUEUE : MESSAGE_ALL) | \
			(message_form == MESSAGE_FORM_CALLS ? MESSAGE_BY_LAZY : conditions_met & MESSAGE_BY_LAZY))
/* Chooses the form, 0: with all techniques; -ENODEV: the architecture has no other. */
int message_choose(u32 form);
void message_allow(u32 what, bool on);
bool messages_direct(void);             /* all is so */

/* arch_task.accepts of a task that waits at the gate: the only sender, or this for any. */
#define MESSAGE_FROM_ANYONE 1u
/* or nobody more: one has been sent at the gate, and the task is ready, but has not run since (gate_calls.S). */
#define MESSAGE_TAKEN 2u
#define MESSAGE_BYTES 8u        /* of a message in memory at the gate (gate_memory.S) */

void message_init(struct task *task);   /* its stack is new */
/* Forgets all pairs: a task ends, a sender queues for one, or its permissions, priority, segments or turn change. */
void message_forget(void);
void message_check_turns(void);         /* at a tick: forgets them if the turn of a task in one of them is over */
/*
 * Called when current has sent a message that ended the wait of `next`, and before current itself waits for a message
 * from `from` (NULL: from anyone).
 */
void message_wait_begin(struct task *next, struct task *from);
/* The task runs on: no message passes to it at the gate. */
#define message_wait_over(task) ((void)((task)->arch.accepts = 0))
void messages_account(void);            /* brings the counters of switches and messages up to date */
void message_go_on(struct regs *regs);
void message_go_on_receiving(struct regs *regs);
/* The direct switch (ipc.switch) of the form. */
#define message_switch() (message_form < MESSAGE_FORM_CALLS ? rendezvous_switch_direct : message_switch_noting)
void message_switch_noting(struct task *next);

#endif
