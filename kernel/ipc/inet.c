/*
 * Internet sockets within this machine: TCP and UDP between local addresses.
 * There is no network device and there are no packets; a connection is a pair
 * of byte streams, a UDP datagram goes straight to the receiver's queue.
 */
#include "datagram.h"
#include "stream.h"

#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#define LOOPBACK 0x7f000001u
#define BROADCAST 0xffffffffu
#define PORT_PRIVILEGED 1024u	/* lower ones are the superuser's */
#define PORT_FIRST 32768u	/* of those that the kernel gives out */
#define PORT_LAST 60999u

struct endpoint {
	u32 address;
	u16 port;	/* 0: none */
};

struct inet_socket {
	struct list_head link;		/* bound */
	struct socket *socket;
	struct endpoint name, peer;
	struct datagram_queue queue;	/* UDP */
};

/*
 * Bound sockets, by transport and port, and which ports have one. Accepted connections are not among them: they share
 * their listener's port.
 */
#define BUCKETS 256u
static struct list_head buckets[2][BUCKETS];
static u32 used[2][(PORT_LAST - PORT_FIRST + 32) / 32];	/* of those that the kernel gives out */

static const struct socket_ops tcp_ops, udp_ops;

static struct inet_socket *inet_of(const struct socket *s)
{
	return s->data;
}

static struct socket *new_inet(bool tcp)
{
	struct inet_socket *i = kzalloc(sizeof *i);
	struct socket *s = NULL;

	if (i)
		s = socket_new(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, tcp ? IPPROTO_TCP : IPPROTO_UDP,
			       tcp ? &tcp_ops : &udp_ops);
	if (!s) {
		kfree(i);
		return NULL;
	}
	i->socket = s;
	list_init(&i->link);
	datagram_init(&i->queue);
	s->data = i;
	return s;
}

long inet_create(int type, int protocol, struct socket **out)
{
	if (type != SOCK_STREAM && type != SOCK_DGRAM)
		return type == 3 ? -EPERM : -ESOCKTNOSUPPORT;	/* raw sockets would need a network */
	if (protocol && protocol != (type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP))
		return -EPROTONOSUPPORT;
	*out = new_inet(type == SOCK_STREAM);
	return *out ? 0 : -ENOMEM;
}

static int inet_parse(const struct address *a, struct endpoint *e)
{
	struct sockaddr_in in;

	if (a->len < sizeof in)
		return -EINVAL;
	memcpy(&in, a->bytes, sizeof in);
	if (in.family != AF_INET)
		return -EAFNOSUPPORT;
	e->address = in.address;
	e->port = in.port;
	return 0;
}

static void format(const struct endpoint *e, struct address *a)
{
	struct sockaddr_in in = { .family = AF_INET, .port = e->port, .address = e->address };

	memcpy(a->bytes, &in, sizeof in);
	a->len = sizeof in;
}

static bool is_local(u32 address)
{
	return address == INADDR_ANY || address >> 24 == LOOPBACK >> 24;
}

static bool clash(const struct inet_socket *a, const struct inet_socket *b)
{
	if (a->socket->type != b->socket->type || a->name.port != b->name.port)
		return false;
	if (a->name.address != INADDR_ANY && b->name.address != INADDR_ANY && a->name.address != b->name.address)
		return false;
	return !(socket_option(a->socket, SO_REUSEADDR) && socket_option(b->socket, SO_REUSEADDR) &&
		 !a->socket->listening && !b->socket->listening);
}

static struct list_head *bucket(u16 type, u16 port)
{
	struct list_head *head = &buckets[type == SOCK_DGRAM][port % BUCKETS];

	if (!head->next)
		list_init(head);
	return head;
}

/* Another socket that has the port; `clashing`: in such a way that this one may not. */
static bool taken(const struct inet_socket *wanted, bool clashing)
{
	const struct inet_socket *i;
	u32 looked_at = 0;

	list_for_each_entry(i, bucket(wanted->socket->type, wanted->name.port), link) {
		interrupt_window_at(++looked_at);
		if (i != wanted && i->name.port == wanted->name.port && (!clashing || clash(i, wanted)))
			return true;
	}
	return false;
}

static void mark_port(const struct inet_socket *i, bool in_use)
{
	u32 n = i->name.port - PORT_FIRST, *word;

	if (n > PORT_LAST - PORT_FIRST)
		return;
	word = &used[i->socket->type == SOCK_DGRAM][n / 32];
	*word = in_use ? *word | 1u << n % 32 : *word & ~(1u << n % 32);
}

static u16 free_port(u16 type)
{
	static u32 next;

	for (u32 tries = 0; tries <= PORT_LAST - PORT_FIRST; tries++) {
		u32 n = next;

		interrupt_window_at(tries);
		next = n == PORT_LAST - PORT_FIRST ? 0 : n + 1;
		if (!(used[type == SOCK_DGRAM][n / 32] >> n % 32 & 1))
			return (u16)(PORT_FIRST + n);
	}
	return 0;
}

/* Takes the port, or any free one for 0. */
static int take_port(struct inet_socket *i, u32 address, u16 port)
{
	i->name.address = address;
	i->name.port = port ? port : free_port(i->socket->type);
	if (!i->name.port || taken(i, true)) {
		i->name = (struct endpoint){ 0, 0 };
		return -EADDRINUSE;
	}
	list_add(&i->link, bucket(i->socket->type, i->name.port));
	mark_port(i, true);
	return 0;
}

static void unbind(struct inet_socket *i)
{
	if (list_empty(&i->link))
		return;
	list_del(&i->link);
	if (!taken(i, false))
		mark_port(i, false);
	i->name = (struct endpoint){ 0, 0 };
}

static int bind_any(struct inet_socket *i)
{
	return i->name.port ? 0 : take_port(i, INADDR_ANY, 0);
}

static long inet_bind(struct socket *s, const struct address *a)
{
	struct inet_socket *i = inet_of(s);
	struct endpoint e;
	int error = inet_parse(a, &e);

	if (error)
		return error;
	if (i->name.port)
		return -EINVAL;
	if (!is_local(e.address))
		return -EADDRNOTAVAIL;
	if (e.port && e.port < PORT_PRIVILEGED && !capable())
		return -EACCES;
	return take_port(i, e.address, e.port);
}

static long inet_name(struct socket *s, struct address *a, bool peer)
{
	const struct inet_socket *i = inet_of(s);

	if (peer && !i->peer.port)
		return -ENOTCONN;
	format(peer ? &i->peer : &i->name, a);
	return 0;
}

/* The most exactly bound receiver for an address and port. */
static struct inet_socket *find_receiver(u16 type, const struct endpoint *to, bool listening)
{
	struct inet_socket *i, *any = NULL;
	u32 looked_at = 0;

	list_for_each_entry(i, bucket(type, to->port), link) {
		interrupt_window_at(++looked_at);
		if (i->socket->type != type || i->name.port != to->port || (listening && !i->socket->listening))
			continue;
		if (i->name.address == to->address)
			return i;
		if (i->name.address == INADDR_ANY)
			any = i;
	}
	return any;
}

/* Where a connect or a send goes: "any" means this machine. */
static int destination(const struct address *a, struct endpoint *to)
{
	int error = inet_parse(a, to);

	if (error)
		return error;
	if (to->address == BROADCAST)
		return -EACCES;
	if (!is_local(to->address))
		return -ENETUNREACH;
	if (to->address == INADDR_ANY)
		to->address = LOOPBACK;
	return 0;
}

static long tcp_listen(struct socket *s, u32 backlog)
{
	struct inet_socket *i = inet_of(s);
	int error;

	if (s->connection)
		return -EINVAL;
	error = bind_any(i);
	if (error)
		return error;
	s->listening = true;
	if (taken(i, true)) {
		s->listening = false;
		return -EADDRINUSE;
	}
	return socket_listen(s, backlog);
}

static long tcp_listener(const struct address *a, struct socket **out)
{
	struct inet_socket *listener;
	struct endpoint to;
	int error = destination(a, &to);

	if (error)
		return error;
	listener = find_receiver(SOCK_STREAM, &to, true);
	if (!listener)
		return -ECONNREFUSED;
	*out = listener->socket;
	return 0;
}

static long tcp_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct inet_socket *i = inet_of(s), *other;
	struct socket *embryo, *listener;
	struct endpoint to;
	bool fresh = !i->name.port;
	long error = destination(a, &to);

	if (error)
		return error;
	if (s->listening || s->connection)
		return -EISCONN;
	error = bind_any(i);
	if (error)
		return error;
	embryo = new_inet(true);
	error = stream_connect(s, embryo, a, nonblock, &listener);
	if (error) {
		if (fresh && !s->connection && !s->listening)
			unbind(i);
		return error;
	}
	if (i->name.address == INADDR_ANY)
		i->name.address = LOOPBACK;
	i->peer = to;
	other = inet_of(embryo);
	other->name = to;
	other->peer = i->name;
	socket_enqueue(listener, embryo);
	return 0;
}

static long tcp_send(struct socket *s, struct message *m)
{
	return s->connection ? stream_send(s, m) : socket_broken_pipe(m->flags);
}

static long tcp_receive(struct socket *s, struct message *m)
{
	return s->connection ? stream_receive(s, m) : -ENOTCONN;
}

static void inet_release(struct socket *s)
{
	struct inet_socket *i = inet_of(s);

	unbind(i);
	stream_leave(s);
	datagram_free(&i->queue);
	kfree(i);
}

static u32 inet_pages_held(const struct socket *s)
{
	const struct socket *embryo;
	u32 pages = stream_pages_held(s) + datagram_pages_held(&inet_of(s)->queue);

	list_for_each_entry(embryo, &s->pending, pending_link)
		pages += stream_pages_held(embryo);
	return pages;
}

static const struct socket_ops tcp_ops = {
	.bind = inet_bind, .connect = tcp_connect, .listen = tcp_listen, .find_listener = tcp_listener,
	.accept = socket_accept, .name = inet_name, .send = tcp_send, .receive = tcp_receive, .poll = stream_poll,
	.shutdown = stream_shutdown, .readable_bytes = stream_bytes, .pages_held = inet_pages_held,
	.release = inet_release,
};

static long udp_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct inet_socket *i = inet_of(s);
	struct endpoint to;
	int error;

	(void)nonblock;
	if (a->len >= sizeof a->family && a->family == AF_UNSPEC) {
		i->peer = (struct endpoint){ 0, 0 };
		return 0;
	}
	error = destination(a, &to);
	if (!error)
		error = bind_any(i);
	if (error)
		return error;
	if (i->name.address == INADDR_ANY)
		i->name.address = LOOPBACK;
	i->peer = to;
	return 0;
}

/* A receiver whose queue is full loses the datagram, as UDP may. */
static long udp_send(struct socket *s, struct message *m)
{
	struct inet_socket *i = inet_of(s), *to;
	struct endpoint where = i->peer, from;
	struct address sender;
	struct datagram *d;
	long error = socket_error(s), size;

	if (error)
		return error;
	if (s->shut & SHUT_WR)
		return socket_broken_pipe(m->flags);
	if (m->address && m->address->len) {
		error = destination(m->address, &where);
		if (error)
			return error;
	}
	error = bind_any(i);	/* before the rest is looked at, as Linux does */
	if (error)
		return error;
	if (!where.port)
		return m->address && m->address->len ? -EINVAL : -EDESTADDRREQ;
	if (m->data->left > DATAGRAM_MAX)
		return -EMSGSIZE;
	from = i->name;
	if (from.address == INADDR_ANY)
		from.address = LOOPBACK;
	format(&from, &sender);
	d = datagram_new(m, &sender);
	if (IS_ERR(d))
		return PTR_ERR(d);
	size = (long)datagram_size(d);
	to = find_receiver(SOCK_DGRAM, &where, false);
	if (!to || (to->peer.port && (to->peer.port != from.port || to->peer.address != from.address))) {
		if (i->peer.port)
			s->error = ECONNREFUSED;	/* as the ICMP answer would, at the next call */
		to = NULL;
	}
	if (to && datagram_room(&to->queue))
		datagram_append(&to->queue, d, m);
	else
		datagram_discard(d);
	return size;
}

static long udp_receive(struct socket *s, struct message *m)
{
	return datagram_take(s, &inet_of(s)->queue, m);
}

static unsigned udp_poll(struct socket *s, struct poll_table *table)
{
	return POLLOUT | POLLWRNORM | datagram_poll(s, &inet_of(s)->queue, table);
}

static long udp_shutdown(struct socket *s, unsigned how)
{
	struct inet_socket *i = inet_of(s);

	if (!i->peer.port)
		return -ENOTCONN;
	s->shut |= how;
	wake_up(&i->queue.readable);
	return 0;
}

static u32 udp_bytes(struct socket *s)
{
	return datagram_next_size(&inet_of(s)->queue);
}

static const struct socket_ops udp_ops = {
	.bind = inet_bind, .connect = udp_connect, .name = inet_name, .send = udp_send, .receive = udp_receive,
	.poll = udp_poll, .shutdown = udp_shutdown, .readable_bytes = udp_bytes, .pages_held = inet_pages_held,
	.release = inet_release,
};
