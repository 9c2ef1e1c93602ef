/* Short messages at the gate of system calls (gate.S): what <arch/message.h> of an architecture with a gate offers. */
#ifndef MESSAGE_GATE_H
#define MESSAGE_GATE_H
#include <types.h>

struct regs;
struct task;

/* What must be so for messages to pass at the gate: bits for message_allow(). An architecture's own begin at 8. */
#define MESSAGE_FAST      1u    /* ipc.path=fast */
#define MESSAGE_TO_PEER   2u    /* ipc.switch=direct */
#define MESSAGE_BY_QUEUE  4u    /* not ready.queue=full: a direct switch leaves the queue as it is */
/* Chooses the form of the path; 0 has all techniques. -ENODEV: the architecture lacks this form. */
int message_choose(u32 form);
void message_allow(u32 what, bool on);
bool messages_direct(void);             /* all is so */

/* arch_task.accepts of a task that waits at the gate: the only sender's address (ppc: physical), or this for any. */
#define MESSAGE_FROM_ANYONE 1u

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

#endif
