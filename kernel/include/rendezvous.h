/*
 * Synchronous messages between threads. Sender or receiver, whichever arrives second, copies the message. A message has
 * three words in registers, and as many bytes of memory as both sides allow. The system calls are described in
 * docs/interfaces.md, section 10.
 */
#ifndef RENDEZVOUS_H
#define RENDEZVOUS_H
#include <list.h>
#include <types.h>

struct task;

#define RENDEZVOUS_BYTES_MOST 65536u    /* of one message's memory */
#define RENDEZVOUS_FOREVER    0xffffffffu     /* a time limit: none */

/* The memory part of a message, as named by a call. */
struct ipc_buffers {
	void *send;
	u32 send_size;
	void *receive;
	u32 receive_size;               /* longer messages are cut off */
};

enum rendezvous_state {
	RENDEZVOUS_NONE,
	RENDEZVOUS_RECEIVING,           /* from `partner`; NULL: from anyone */
	RENDEZVOUS_SENDING,             /* to `partner` */
};

/* A thread's state; zeroed at its creation, then rendezvous_init(). */
struct rendezvous {
	enum rendezvous_state state;    /* what it waits for */
	bool call;                      /* the sender waits for its partner's reply next */
	bool done;                      /* the other side ended the wait; `result` is set */
	bool ended;                     /* the thread has ended; no thread can meet it */
	bool sought;                    /* a thread may have waited for a message from this one */
	bool holds;                     /* `held` has the message to send or that was received */
	struct task *partner;
	struct task *copier;            /* the thread that copies for this waiting one, or NULL */
	struct task *copied;            /* the waiting thread that this one copies for; NULL: it gave up */
	long result;
	struct ipc_buffers buffers;
	struct list_head senders;       /* senders to this thread that wait, by `link`, in order */
	struct list_head link;
	void *held;                     /* buffer for a message (policy ipc.copy); freed at the thread's end */
	u32 held_room;
};

static inline void rendezvous_init(struct rendezvous *r)
{
	list_init(&r->senders);
	list_init(&r->link);
}
/* current ends: threads that wait for it get ESRCH. */
void rendezvous_exit(void);

/* Continues current's wait to receive after an interruption: its result. 0: from any thread. */
long rendezvous_receive_again(s32 from);
/* The result of a call that has waited in front of all C code: as above, or of the message that has been received. */
long rendezvous_go_on(bool received, s32 from);

/* How a message's memory is copied (ipc/rendezvous_copy.c); policy ipc.copy binds it. */
struct rendezvous_copy {
	/*
	 * Called before current waits to send. A form with a buffer copies the message to kernel memory. 0, -EFAULT
	 * or -ENOMEM.
	 */
	long (*hold)(void);
	/* Copies n bytes of current's message to a receiver that waits: see rendezvous_pull(). */
	long (*push)(struct task *receiver, u32 n, long *receiver_error);
};
extern const struct rendezvous_copy *rendezvous_copy, rendezvous_copy_twice, rendezvous_copy_aperture;
extern u64 rendezvous_apertures;          /* apertures opened */

/* The two calls that send and then receive; policy ipc.path binds their general or their fast form. */
struct rendezvous_path {
	long (*call)(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2);
	long (*reply_wait)(s32 to, const struct ipc_buffers *buffers, u32 timeout, u32 word0, u32 word1, u32 word2);
};
extern const struct rendezvous_path *rendezvous_path, rendezvous_path_general, rendezvous_path_fast;
extern u64 rendezvous_fast;             /* messages that took the fast path */

/*
 * Puts current to sleep (its state is set) and makes `next` run (its wait has ended). Policy ipc.switch binds it: next
 * enters the ready queue and the scheduler picks a task, or the processor switches directly to next.
 */
extern void (*rendezvous_switch)(struct task *next);
void rendezvous_switch_queue(struct task *next);
void rendezvous_switch_direct(struct task *next);
extern u64 rendezvous_direct;           /* direct switches */

#endif
