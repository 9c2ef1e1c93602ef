/* Short messages at the gate of system calls (gate.S), and what the rest of the kernel tells of them. */
#ifndef ARCH_MESSAGE_H
#define ARCH_MESSAGE_H
#include <message_gate.h>

/* At the top of a kernel stack, above what the processor pushes. */
struct message_block {
	struct task *task;              /* that the stack is of */
	s32 number;                     /* of the thread that messages pass to without further looks; 0: of none */
	struct task *peer;              /* that thread; else the stack's own */
	u32 ebx, esi, edi, ebp;         /* of the program that waits at the gate */
	u32 passed;                     /* messages that it has sent so, since messages_account() */
};

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
/* arch_task.accepts of a task that got a message at the gate, and has not run since: from nobody (gate_calls.S). */
#define MESSAGE_TAKEN 2u
#define MESSAGE_BYTES 8u        /* of a message in memory at the gate (gate_memory.S) */

void message_go_on_receiving(struct regs *regs);
/* The direct switch (ipc.switch) of the form. */
#define message_switch() (message_form < MESSAGE_FORM_CALLS ? rendezvous_switch_direct : message_switch_noting)
void message_switch_noting(struct task *next);

#endif
