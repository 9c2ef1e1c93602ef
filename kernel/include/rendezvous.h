/*
 * Synchronous messages between threads: a sender and a receiver meet, and the message goes from the one to the other.
 * A message is three words, in registers, and as many bytes of memory as both sides say. The system calls:
 * docs/interfaces.md, section 10.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H

#include <list.h>
#include <types.h>

struct task;

#define RENDEZVOUS_BYTES_MOST 65536u    /* of one message's memory */
#define RENDEZVOUS_FOREVER    0xffffffffu     /* a time limit: none */

/* The part of a message that is memory, as a call names it. */
struct ipc_buffers {
	void *send;
	u32 send_size;
	void *receive;
	u32 receive_size;               /* what is longer is cut off */
};

enum rendezvous_state {
	RENDEZVOUS_NONE,
	RENDEZVOUS_SENDING,             /* to `partner` */
	RENDEZVOUS_RECEIVING,           /* from `partner`; NULL: from anyone */
};

/* A thread's part; zeroed at its birth, then rendezvous_init(). */
struct rendezvous {
	enum rendezvous_state state;    /* what it waits to do */
	bool call;                      /* a sender that receives from its partner next */
	bool done;                      /* the other side has ended the wait, with `result` */
	bool ended;                     /* the thread: nobody meets it any more */
	bool sought;                    /* somebody may have waited for a message of this very thread */
	bool holds;                     /* `held` has the message that it waits to send, or has received */
	struct task *partner;
	struct task *copier;            /* who copies the message of this waiting thread; NULL: nobody yet */
	struct task *copied;            /* for whom this running thread copies; NULL: has stopped waiting */
	long result;
	struct ipc_buffers buffers;
	struct list_head senders;       /* those that wait to send to this thread, by `link`, in order */
	struct list_head link;
	void *held;                     /* a message in the kernel's memory (policy ipc.copy); kept to the thread's end */
	u32 held_room;
};

void rendezvous_init(struct task *task);
/* current ends: whoever waits for it gets ESRCH. */
void rendezvous_exit(void);

/* How memory gets from one to the other (ipc/rendezvous_copy.c); policy ipc.copy binds it. */
struct rendezvous_copy {
	/* current is about to wait with its message: takes a copy, if it wants one. 0, -EFAULT or -ENOMEM. */
	long (*hold)(void);
	/* current's message, n bytes, to a receiver that waits: see rendezvous_pull(). */
	long (*push)(struct task *receiver, u32 n, long *receiver_error);
};
extern const struct rendezvous_copy *rendezvous_copy, rendezvous_copy_twice, rendezvous_copy_aperture;
extern u64 rendezvous_apertures;          /* opened */

/* The two calls that send and then receive; policy ipc.path binds them: the general form, or one for the shortest way. */
struct rendezvous_path {
	long (*call)(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2);
	long (*reply_wait)(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2);
};
extern const struct rendezvous_path *rendezvous_path, rendezvous_path_general, rendezvous_path_fast;
extern u64 rendezvous_fast;             /* messages that took the shortest way */

/*
 * current, whose state is set, waits; `next`, whose wait the message has ended, may run. Policy ipc.switch binds it:
 * next enters the ready queue and the scheduler picks, or the processor goes straight to next.
 */
extern void (*rendezvous_switch)(struct task *next);
void rendezvous_switch_queue(struct task *next);
void rendezvous_switch_direct(struct task *next);
extern u64 rendezvous_direct;           /* switches past the ready queue */

#endif
