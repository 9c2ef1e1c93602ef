/* Sockets: the interface between the calls, the address families and the transports. */
#ifndef SOCKET_H
#define SOCKET_H
#include <abi/socket.h>
#include <abi/socket_option.h>
#include <file.h>
#include <poll.h>
#include <time.h>
#include <wait.h>

#include "rights.h"

#define UID_NOBODY 65534u       /* user and group of the sender of a message without credentials */

#define SHUT_RD 1u      /* bits: shutdown(2)'s number plus one */
#define SHUT_WR 2u

/* The only network device. */
#define LOOPBACK_INDEX 1
#define LOOPBACK_MTU 65536
#define LOOPBACK_QUEUE 1000

#define ADDRESS_MAX 128u
#define SOCKET_BACKLOG_MAX 4096u        /* connections that wait to be accepted */
#define SOCKET_BUFFER 65536u    /* bytes that wait at a receiver */

struct address {
	u32 len;        /* bytes used; 0: none */
	union {
		u16 family;
		u8 bytes[ADDRESS_MAX];
	};
};

/* What comes with a UDP datagram. */
struct packet {
	u32 address;            /* send: the source (0: not given); receive: the destination */
	u8 ttl, tos;
	bool has_ttl, has_tos;  /* send: the program gave them */
	u16 error;              /* receive with MSG_ERRQUEUE: a positive errno */
};

/* The place of the next piece of a receiver's ancillary data. */
struct control {
	uaddr_t at;
	u32 left;       /* bytes */
	u32 flags;      /* MSG_CTRUNC */
};

/* One send or receive. */
struct message {
	struct iter *data;
	u32 flags;              /* MSG_... of the call */
	bool nonblock;
	struct address *address;        /* send: where to (len 0: the peer); receive: where from. NULL: not wanted */
	bool named;             /* send: sendto gave an address, even if one of no bytes */
	struct rights *rights;  /* send: taken over on success; receive: the caller's to free */
	const struct ucred *as; /* send: the credentials that the program gave (SCM_CREDENTIALS); NULL: none */
	union {
		struct ucred sender;    /* Unix sockets: the sender's credentials, as the receiver sees them */
		struct packet packet;   /* UDP */
	};
	u32 out_flags;          /* MSG_TRUNC */
};

/* What setsockopt sets at the level of sockets. A connection that TCP accepts has a copy of its listener's. */
struct socket_settings {
	u64 receive_timeout, send_timeout;      /* ns; 0: none */
	u32 buffer[2];          /* SO_SNDBUF and SO_RCVBUF */
	u32 options;            /* bit n: the socket-level option n that is a plain switch */
	u32 linger_seconds;
	u32 priority;
	u32 low_water;          /* SO_RCVLOWAT, at least 1 */
	bool linger;
};

/* The memory that a socket takes besides the data in its queues: its own structures and those of its transport. */
#define SOCKET_BYTES 1024u

struct socket;
struct connection;

enum socket_name {
	OWN_NAME, PEER_NAME,
	ACCEPTED_NAME,          /* the peer of a connection that was just accepted, even if the peer has gone */
};

/* The value of an option that getsockopt reports. */
union option_value {
	s32 number;
	u32 words[26];
	u8 bytes[104];
	struct ucred cred;
};

struct socket_ops {
	long (*bind)(struct socket *, const struct address *);
	long (*connect)(struct socket *, const struct address *, bool nonblock);
	long (*listen)(struct socket *, u32 backlog);
	/* Finds the Unix socket that listens at an address: 0 or a negative errno. */
	long (*find_listener)(const struct address *, struct socket **);
	/* Takes the next connection from the queue, as a new socket. */
	long (*accept)(struct socket *, bool nonblock, struct socket **);
	long (*name)(struct socket *, struct address *, enum socket_name);
	long (*send)(struct socket *, struct message *);
	long (*receive)(struct socket *, struct message *);
	unsigned (*poll)(struct socket *, struct poll_table *);
	long (*shutdown)(struct socket *, unsigned how);
	u32 (*readable_bytes)(struct socket *);
	u32 (*pages_held)(const struct socket *);       /* of kernel memory; NULL: hardly any */
	void (*fit)(struct socket *);   /* settings.buffer has changed; NULL: the sizes are fixed */
	/* Options of the protocol, at other levels than SOL_SOCKET. NULL: there are none. */
	long (*set_option)(struct socket *, int level, int option, const void *user, u32 size);
	long (*get_option)(struct socket *, int level, int option, union option_value *);       /* the value's size */
	void (*release)(struct socket *);
};

/* The state of a socket whose file is in messages (rights.c). */
struct flight {
	struct list_head link;          /* in `flying`, while count is not 0 */
	u32 count;                      /* references to its file from messages */
	/* What the last search knows of it (rights.c). */
	u32 round;                      /* its number */
	u32 outside;                    /* how many of these references do not come from a candidate's queue */
	bool kept;                      /* a program can still receive the file */
	/* Lists of rights.c: of sockets to search or empty next (work), and to count the memory of (weigh). */
	struct list_head work, weigh;
	u32 weighed;                    /* the last round that counted its memory */
};

struct socket {
	const struct socket_ops *ops;
	struct file *file;              /* not referenced; NULL: not accepted yet */
	struct flight flight;
	u16 family, type, protocol;
	u32 shut;               /* SHUT_... of this side; of a stream, while it has no connection */
	s32 error;              /* positive errno to report once (SO_ERROR) */
	struct socket_settings settings;
	u32 poll_water;         /* bytes that make a stream readable */
	struct ucred peer;      /* SO_PEERCRED */
	bool listening;
	bool corked;            /* TCP_CORK */
	bool asking;            /* TCP: its connect waits for a place in a listener's queue */
	bool aborted;           /* released before accept took it: its peer gets an error */
	u32 backlog;
	struct list_head pending;       /* connections to accept, by pending_link */
	u32 pending_count;
	struct list_head pending_link;
	struct waitq accepting;         /* accept waits here, and poll */
	struct waitq room;              /* connect waits here for a place in the queue */
	struct connection *connection;  /* of a connected stream (ipc/connection.c) */
	unsigned end;                   /* which of its two ends this is */
	void *data;             /* for the transport's use */
};

static inline bool socket_option(const struct socket *s, unsigned option)
{
	return s->settings.options >> option & 1;
}

struct socket *socket_of(const struct file *);  /* NULL: the file is no socket */
struct socket *socket_new(u16 family, u16 type, u16 protocol, const struct socket_ops *);
void socket_release(struct socket *);
long socket_write_more(struct file *, struct iter *);   /* write to a socket, with MSG_MORE */
void socket_requeue(struct socket *);           /* after it got or lost a peer: its poll reports other queues */
long socket_error(struct socket *);             /* takes the pending error: a negative errno, or 0 */
struct ucred current_ucred(void);
/*
 * Whom the receiver of a message sees as its sender: the sender that the message names; current if either end has
 * SO_PASSCRED; else nobody. `to` is NULL if the receiver is closed.
 */
struct ucred message_cred(const struct socket *from, const struct socket *to, const struct message *);
long socket_broken_pipe(u32 flags);             /* -EPIPE, with SIGPIPE unless MSG_NOSIGNAL */

/* accept's queue, the same for every stream. */
long socket_listen(struct socket *, u32 backlog);
long socket_accept(struct socket *, bool nonblock, struct socket **);
unsigned socket_listener_poll(const struct socket *);
/*
 * Unix sockets: waits until the listener at an address has a place in its queue: 0; find_listener's errors, -EAGAIN,
 * -ERESTARTSYS.
 */
long socket_find_listener(struct socket *from, const struct address *, bool nonblock, struct socket **listener);
void socket_enqueue(struct socket *listener, struct socket *embryo);
void socket_drop_pending(struct socket *listener);      /* releases the connections that wait to be accepted */
/* After the socket has become another kind: its polls choose their queues again, and its waiters wake. */
void socket_changed(struct socket *);

/* When a call that begins now ends, by the socket's timeout (0: never). One deadline serves all waits of the call. */
static inline u64 socket_deadline(u64 timeout)
{
	return timeout ? time_deadline(timeout) : TIME_NEVER;
}

/* Waits for cond as the call's deadline and flags say; 0, -EAGAIN or -ERESTARTSYS. */
#define SOCKET_WAIT(queue, cond, nonblock, deadline)                                            \
	({                                                                                      \
		long socket_wait_ = 0;                                                          \
		if (!(cond)) {                                                                  \
			if (nonblock)                                                           \
				socket_wait_ = -EAGAIN;                                         \
			else                                                                    \
				socket_wait_ = wait_event_until((queue), (cond), (deadline));   \
			if (socket_wait_ == -ETIMEDOUT)                                         \
				socket_wait_ = -EAGAIN;                                         \
		}                                                                               \
		socket_wait_;                                                                   \
	})

/* ipc/unix.c, ipc/inet.c, ipc/netlink.c */
long unix_create(int type, int protocol, struct socket **);
long unix_pair(int type, struct socket *pair[2]);
/* Calls show() for the rights in the socket's queue, and in the queues of connections that it has not accepted yet. */
void unix_each_rights(struct socket *, void (*show)(struct rights *, void *argument), void *argument);
long netlink_create(int type, int protocol, struct socket **);
long inet_create(int type, int protocol, struct socket **);

/* ipc/socket_option.c */
long option_number(s32 *value, const void *user, u32 size);     /* -EINVAL, -EFAULT */
/* ipc/socket_message.c: writes one piece; MSG_CTRUNC: there was no room for all of it. */
void control_put(struct control *, s32 level, s32 type, const void *data, u32 size);
/* ipc/udp.c */
long udp_read_control(struct message *, s32 type, const void *data, u32 size);  /* -EINVAL, -ENODEV, -ENETUNREACH */
void udp_write_control(const struct socket *, struct control *, const struct message *);
long udp_receive_error(struct socket *, struct message *);      /* -EAGAIN: there is none */
/* ipc/interface.c: requests about network devices (netdevice(7)). */
long interface_ioctl(const struct socket *, unsigned command, void *user);

#endif
