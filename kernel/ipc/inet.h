/* Shared by the files of Internet sockets: ipc/inet.c (addresses and ports), tcp.c, udp.c, inet_option.c. */
#ifndef INET_H
#define INET_H
#include "datagram.h"
#include "stream.h"

#define BROADCAST 0xffffffffu
#define BROADCAST_LOOPBACK 0x7fffffffu

struct endpoint {
	u32 address;
	u16 port;       /* 0: none */
};

/* Options of IP, TCP and UDP-Lite that have a number as value, in the order of the table in inet_option.c. */
enum inet_slot {
	TOS, TTL, WANT_PKTINFO, WANT_TTL, WANT_TOS, WANT_ERRORS, FREEBIND, LATE_PORT, MTU_DISCOVER,
	NODELAY, CORK, QUICKACK, MAXSEG, KEEPIDLE, KEEPINTVL, KEEPCNT, SYNCNT, LINGER2, USER_TIMEOUT,
	SEND_COVERAGE, RECEIVE_COVERAGE,
	INET_SLOTS,
};
#define COVERAGE_UNSET (-1)

/* How far connect has come with a TCP socket, as calls see it: Linux's states of a socket. */
enum tcp_phase { UNCONNECTED, CONNECTING, CONNECTED, DISCONNECTING };

struct inet_socket {
	struct list_head link;          /* bound */
	struct socket *socket;
	struct endpoint name, peer;     /* a UDP socket is connected if the peer has an address, even to port 0 */
	bool address_given, port_given; /* bind named them, so the name keeps them when a connection ends */
	bool bound_anew;                /* bound after its connection ended: the next disconnect keeps the port */
	u32 uid;                        /* of its creator */
	s32 option[INET_SLOTS];         /* less the initial value */
	bool reno;                      /* TCP_CONGESTION */
	enum tcp_phase phase;
	s32 segment;                    /* TCP_MAXSEG when it was connected: later ones change nothing */
	u16 last_port;                  /* TCP: of an ended connection; the name has it still, but nothing holds it */
	struct list_head waiting;       /* TCP: in the list of a listener that has no place for it */
	struct patience *patience;      /* how long it waits there; NULL: it never did */
	struct list_head callers;       /* TCP, listening: the sockets that wait for a place, by `waiting` */
	struct datagram_queue queue;    /* UDP, UDP-Lite */
	struct datagram_queue errors;   /* UDP with IP_RECVERR: datagrams that nobody received */
	struct outgoing *outgoing;      /* UDP: a datagram that waits for more (MSG_MORE), or NULL */
};

static inline struct inet_socket *inet_of(const struct socket *socket)
{
	return socket->data;
}

/* ipc/inet.c */
struct socket *inet_new(u16 protocol);  /* NULL: no memory */
void inet_format(const struct endpoint *, struct address *);
/*
 * The destination of a connect or a send: -EINVAL, -EAFNOSUPPORT, -EACCES, -ENETUNREACH. `source`: the address that the
 * send comes from, if that is not the socket's.
 */
int inet_destination(const struct socket *, const struct address *, u32 source, struct endpoint *to);
/* For a connect: gives the socket this peer, and a name if it has none. */
int inet_aim(struct socket *, const struct address *);
u32 inet_source(const struct inet_socket *);    /* the address that its data comes from, or INADDR_ANY */
bool inet_is_local(u32 address);
long inet_bind(struct socket *, const struct address *);
int inet_bind_any(struct inet_socket *);        /* gives it a port unless it has one */
void inet_unbind(struct inet_socket *);
/* Leaves the address and the port that bind did not choose. */
void inet_forget_name(struct inet_socket *);
bool inet_port_clashes(const struct inet_socket *);
void inet_add_accepted(struct inet_socket *);   /* it has a name */
bool inet_same_connection(const struct inet_socket *);  /* TCP: another one has its name and its peer */
long inet_name(struct socket *, struct address *, enum socket_name);
/*
 * The socket that gets what comes for `to` from `from`: the one with the closest binding. Among equals that share the
 * port by SO_REUSEPORT, the sender's address decides.
 */
struct inet_socket *inet_receiver(u16 protocol, const struct endpoint *to, const struct endpoint *from);
u32 inet_pages_held(const struct socket *);
void inet_release(struct socket *);

/* ipc/tcp_hold.c */
void tcp_push(struct socket *);         /* what the socket holds back goes out */

/* ipc/inet_option.c */
u32 tcp_segment_size(const struct socket *);
s32 inet_option(const struct inet_socket *, enum inet_slot);
long inet_set_option(struct socket *, int level, int option, const void *user, u32 size);
long inet_get_option(struct socket *, int level, int option, union option_value *);

/* ipc/tcp.c, ipc/udp.c */
extern const struct socket_ops tcp_ops, udp_ops;
void udp_drop_outgoing(struct inet_socket *);
enum { TCP_ESTABLISHED = 1, TCP_SYN_SENT = 2, TCP_FIN_WAIT2 = 5, TCP_CLOSE = 7, TCP_CLOSE_WAIT = 8, TCP_LISTEN = 10 };
u8 tcp_state(const struct socket *);    /* as TCP_INFO names it */
/* SO_LINGER: before the socket is freed, waits until its peer has what was sent. */
void tcp_linger(struct socket *);
void tcp_leave(struct socket *);        /* the socket is freed */

#endif
