/* Short messages in front of all C code (gate.S), and what the rest of the kernel tells of them. */
#ifndef ARCH_MESSAGE_H
#define ARCH_MESSAGE_H
#include <types.h>

struct regs;
struct task;

/* What must be so for messages to pass at the gate: bits for message_allow(). */
#define MESSAGE_FAST      1u    /* ipc.path=fast */
#define MESSAGE_TO_PEER   2u    /* ipc.switch=direct */
#define MESSAGE_BY_QUEUE  4u    /* not ready.queue=full: a direct switch leaves the queue as it is */
#define MESSAGE_LEAN      8u    /* the entry is lean, nobody traces calls, and there is one processor */
#define MESSAGE_SEGMENTS  16u   /* a switch loads segment registers and does nothing more */
#define MESSAGE_RETURN    32u   /* a return to a program empties no cache */
#define MESSAGE_PRELOAD   64u   /* a switch prefetches nothing */
#define MESSAGE_ALL       127u
#define MESSAGE_BY_LAZY   0u    /* ready.queue=lazy: it makes no difference */
#define MESSAGE_AT_BOOT   (MESSAGE_BY_QUEUE | MESSAGE_RETURN | MESSAGE_PRELOAD)
#define MESSAGE_NEEDED MESSAGE_ALL
int message_choose(u32 form);          /* 0: the only form of the path; -ENODEV: another */
void message_allow(u32 what, bool on);
bool messages_direct(void);             /* all is so */

/* arch_task.accepts of a task that waits at the gate: the physical address of the only sender, or this for any. */
#define MESSAGE_FROM_ANYONE 1u

void message_init(struct task *task);   /* it is new */
/* Forgets all pairs: a task ends, a sender queues for one, or its permissions, priority or turn change. */
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
#define message_switch() rendezvous_switch_direct       /* of ipc.switch */

#endif
