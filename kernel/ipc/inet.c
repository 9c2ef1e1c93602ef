/*
 * Internet sockets within this machine: TCP and UDP between local addresses. There is no network device and there are
 * no packets: a connection is a pair of byte streams, and a UDP datagram goes directly to the receiver's queue.
 */
#include "datagram.h"
#include "stream.h"

#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#define LOOPBACK 0x7f000001u
#define BROADCAST 0xffffffffu
#define PORT_PRIVILEGED 1024u	/* lower ones need the superuser */
#define PORT_FIRST 32768u	/* the first of the ports that the kernel chooses from */
#define PORT_LAST 60999u

struct endpoint {
	u32 address;
	u16 port;	/* 0: none */
};

struct inet_socket {
	struct list_head link;		/* bound */
	struct socket *socket;
	struct endpoint name, peer;
	u32 connecting;		/* threads in tcp_connect */
	bool lent;		/* tcp_connect chose the port, and releases it if no thread connects the socket */
	struct datagram_queue queue;	/* UDP */
};

/*
 * Bound sockets, by transport and port. Accepted connections are not among them, because they share their listener's
 * port.
 */
#define BUCKETS 256u
static struct list_head port_buckets[2][BUCKETS];
static u32 used_ports[2][(PORT_LAST - PORT_FIRST + 32) / 32];	/* bit n: port PORT_FIRST + n has a socket */

static const struct socket_ops tcp_ops, udp_ops;

static struct inet_socket *inet_of(const struct socket *socket)
{
	return socket->data;
}

static struct socket *new_inet(bool tcp)
{
	struct inet_socket *inet = kzalloc(sizeof(*inet));
	struct socket *socket = NULL;

	if (inet)
		socket = socket_new(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, tcp ? IPPROTO_TCP : IPPROTO_UDP,
				    tcp ? &tcp_ops : &udp_ops);
	if (!socket) {
		kfree(inet);
		return NULL;
	}
	inet->socket = socket;
	list_init(&inet->link);
	datagram_init(&inet->queue);
	socket->data = inet;
	return socket;
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

static int inet_parse(const struct address *address, struct endpoint *endpoint)
{
	struct sockaddr_in in;

	if (address->len < sizeof(in))
		return -EINVAL;
	memcpy(&in, address->bytes, sizeof(in));
	if (in.family != AF_INET)
		return -EAFNOSUPPORT;
	endpoint->address = network32(in.address);
	endpoint->port = network16(in.port);
	return 0;
}

static void inet_format(const struct endpoint *endpoint, struct address *address)
{
	struct sockaddr_in in = {
		.family = AF_INET, .port = network16(endpoint->port), .address = network32(endpoint->address),
	};

	memcpy(address->bytes, &in, sizeof(in));
	address->len = sizeof(in);
}

static bool is_local(u32 address)
{
	return address == INADDR_ANY || address >> 24 == LOOPBACK >> 24;
}

static bool inet_clash(const struct inet_socket *a, const struct inet_socket *b)
{
	if (a->socket->type != b->socket->type || a->name.port != b->name.port)
		return false;
	if (a->name.address != INADDR_ANY && b->name.address != INADDR_ANY && a->name.address != b->name.address)
		return false;
	return !(socket_option(a->socket, SO_REUSEADDR) && socket_option(b->socket, SO_REUSEADDR) &&
		 !a->socket->listening && !b->socket->listening);
}

static struct list_head *inet_bucket(u16 type, u16 port)
{
	struct list_head *head = &port_buckets[type == SOCK_DGRAM][port % BUCKETS];

	if (!head->next)
		list_init(head);
	return head;
}

/* Whether another socket has the port. `clashing`: count only sockets with which this one may not share it. */
static bool inet_port_taken(const struct inet_socket *wanted, bool clashing)
{
	const struct inet_socket *inet;
	u32 looked_at = 0;

	list_for_each_entry(inet, inet_bucket(wanted->socket->type, wanted->name.port), link) {
		interrupt_window_at(++looked_at);
		if (inet != wanted && inet->name.port == wanted->name.port && (!clashing || inet_clash(inet, wanted)))
			return true;
	}
	return false;
}

static void mark_port(const struct inet_socket *inet, bool in_use)
{
	u32 n = inet->name.port - PORT_FIRST, *word;

	if (n > PORT_LAST - PORT_FIRST)
		return;
	word = &used_ports[inet->socket->type == SOCK_DGRAM][n / 32];
	*word = in_use ? *word | 1u << n % 32 : *word & ~(1u << n % 32);
}

static u16 free_port(u16 type)
{
	static u32 next;

	for (u32 tries = 0; tries <= PORT_LAST - PORT_FIRST; tries++) {
		u32 n = next;

		interrupt_window_at(tries);
		next = n == PORT_LAST - PORT_FIRST ? 0 : n + 1;
		if (!(used_ports[type == SOCK_DGRAM][n / 32] >> n % 32 & 1))
			return (u16)(PORT_FIRST + n);
	}
	return 0;
}

/* Binds the port, or any free one for 0. */
static int inet_take_port(struct inet_socket *inet, u32 address, u16 port)
{
	inet->name.address = address;
	inet->name.port = port ? port : free_port(inet->socket->type);
	if (!inet->name.port || inet_port_taken(inet, true)) {
		inet->name = (struct endpoint){ 0, 0 };
		return -EADDRINUSE;
	}
	list_add(&inet->link, inet_bucket(inet->socket->type, inet->name.port));
	mark_port(inet, true);
	return 0;
}

static void inet_unbind(struct inet_socket *inet)
{
	if (list_empty(&inet->link))
		return;
	list_del(&inet->link);
	if (!inet_port_taken(inet, false))
		mark_port(inet, false);
	inet->name = (struct endpoint){ 0, 0 };
	inet->lent = false;
}

static int inet_bind_any(struct inet_socket *inet)
{
	return inet->name.port ? 0 : inet_take_port(inet, INADDR_ANY, 0);
}

static long inet_bind(struct socket *socket, const struct address *address)
{
	struct inet_socket *inet = inet_of(socket);
	struct endpoint e;
	int error = inet_parse(address, &e);

	if (error)
		return error;
	if (inet->name.port)
		return -EINVAL;
	if (!is_local(e.address))
		return -EADDRNOTAVAIL;
	if (e.port && e.port < PORT_PRIVILEGED && !capable())
		return -EACCES;
	return inet_take_port(inet, e.address, e.port);
}

static long inet_name(struct socket *socket, struct address *address, bool peer)
{
	const struct inet_socket *inet = inet_of(socket);

	if (peer && !inet->peer.port)
		return -ENOTCONN;
	inet_format(peer ? &inet->peer : &inet->name, address);
	return 0;
}

/* The receiver with the most specific binding for an address and port. */
static struct inet_socket *inet_find_receiver(u16 type, const struct endpoint *endpoint, bool listening)
{
	struct inet_socket *inet, *any = NULL;
	u32 looked_at = 0;

	list_for_each_entry(inet, inet_bucket(type, endpoint->port), link) {
		interrupt_window_at(++looked_at);
		if (inet->socket->type != type || inet->name.port != endpoint->port ||
		    (listening && !inet->socket->listening))
			continue;
		if (inet->name.address == endpoint->address)
			return inet;
		if (inet->name.address == INADDR_ANY)
			any = inet;
	}
	return any;
}

/* The destination of a connect or a send; the address "any" means this machine. */
static int inet_destination(const struct address *address, struct endpoint *to)
{
	int error = inet_parse(address, to);

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

static long tcp_listen(struct socket *socket, u32 backlog)
{
	struct inet_socket *inet = inet_of(socket);
	int error;

	if (socket->connection)
		return -EINVAL;
	error = inet_bind_any(inet);
	if (error)
		return error;
	socket->listening = true;
	if (inet_port_taken(inet, true)) {
		socket->listening = false;
		return -EADDRINUSE;
	}
	return socket_listen(socket, backlog);
}

static long tcp_listener(const struct address *address, struct socket **out)
{
	struct inet_socket *listener;
	struct endpoint to;
	int error = inet_destination(address, &to);

	if (error)
		return error;
	listener = inet_find_receiver(SOCK_STREAM, &to, true);
	if (!listener)
		return -ECONNREFUSED;
	*out = listener->socket;
	return 0;
}

static long tcp_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct inet_socket *inet = inet_of(socket), *other;
	struct socket *embryo, *listener;
	struct endpoint to;
	bool fresh = !inet->name.port;
	long error = inet_destination(address, &to);

	if (error)
		return error;
	if (socket->listening || socket->connection)
		return -EISCONN;
	error = inet_bind_any(inet);
	if (error)
		return error;
	inet->lent |= fresh;
	embryo = new_inet(true);
	inet->connecting++;
	error = stream_connect(socket, embryo, address, nonblock, &listener);
	inet->connecting--;
	if (error) {
		if (inet->lent && !inet->connecting && !socket->connection && !socket->listening)
			inet_unbind(inet);
		return error;
	}
	if (inet->name.address == INADDR_ANY)
		inet->name.address = LOOPBACK;
	inet->peer = to;
	other = inet_of(embryo);
	other->name = to;
	other->peer = inet->name;
	socket_enqueue(listener, embryo);
	return 0;
}

static long tcp_send(struct socket *socket, struct message *message)
{
	return socket->connection ? stream_send(socket, message) : socket_broken_pipe(message->flags);
}

static long tcp_receive(struct socket *socket, struct message *message)
{
	return socket->connection ? stream_receive(socket, message) : -ENOTCONN;
}

static void inet_release(struct socket *socket)
{
	struct inet_socket *inet = inet_of(socket);

	inet_unbind(inet);
	stream_leave(socket);
	datagram_free(&inet->queue);
	kfree(inet);
}

static u32 inet_pages_held(const struct socket *socket)
{
	const struct socket *embryo;
	u32 pages = stream_pages_held(socket) + datagram_pages_held(&inet_of(socket)->queue), looked_at = 0;

	pages += socket->pending_count * SOCKET_BYTES / PAGE_SIZE;
	list_for_each_entry(embryo, &socket->pending, pending_link) {
		interrupt_window_at(++looked_at);
		pages += stream_pages_held(embryo);
	}
	return pages;
}

static const struct socket_ops tcp_ops = {
	.bind = inet_bind, .connect = tcp_connect, .listen = tcp_listen, .find_listener = tcp_listener,
	.accept = socket_accept, .name = inet_name, .send = tcp_send, .receive = tcp_receive, .poll = stream_poll,
	.shutdown = stream_shutdown, .readable_bytes = stream_bytes, .pages_held = inet_pages_held,
	.release = inet_release,
};

static long udp_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct inet_socket *inet = inet_of(socket);
	struct endpoint to;
	int error;

	(void)nonblock;
	if (address->len >= sizeof(address->family) && address->family == AF_UNSPEC) {
		inet->peer = (struct endpoint){ 0, 0 };
		return 0;
	}
	error = inet_destination(address, &to);
	if (!error)
		error = inet_bind_any(inet);
	if (error)
		return error;
	if (inet->name.address == INADDR_ANY)
		inet->name.address = LOOPBACK;
	inet->peer = to;
	return 0;
}

/* If the receiver's queue is full, the datagram is lost, as UDP permits. */
static long udp_send(struct socket *socket, struct message *message)
{
	struct inet_socket *inet = inet_of(socket), *to;
	struct endpoint where = inet->peer, from;
	struct address sender;
	struct datagram *datagram;
	long error = socket_error(socket), size;

	if (error)
		return error;
	if (socket->shut & SHUT_WR)
		return socket_broken_pipe(message->flags);
	if (message->address && message->address->len) {
		error = inet_destination(message->address, &where);
		if (error)
			return error;
	}
	error = inet_bind_any(inet);	/* before other checks, as on Linux */
	if (error)
		return error;
	if (!where.port)
		return message->address && message->address->len ? -EINVAL : -EDESTADDRREQ;
	if (message->data->left > DATAGRAM_MAX)
		return -EMSGSIZE;
	from = inet->name;
	if (from.address == INADDR_ANY)
		from.address = LOOPBACK;
	inet_format(&from, &sender);
	datagram = datagram_new(message, &sender);
	if (IS_ERR(datagram))
		return PTR_ERR(datagram);
	size = (long)datagram_size(datagram);
	to = inet_find_receiver(SOCK_DGRAM, &where, false);
	if (!to || (to->peer.port && (to->peer.port != from.port || to->peer.address != from.address))) {
		if (inet->peer.port)
			socket->error = ECONNREFUSED;	/* reported at the next call, as from an ICMP answer */
		to = NULL;
	}
	if (to && datagram_room(&to->queue))
		datagram_append(&to->queue, datagram, message);
	else
		datagram_discard(datagram);
	return size;
}

static long udp_receive(struct socket *socket, struct message *message)
{
	return datagram_take(socket, &inet_of(socket)->queue, message);
}

static unsigned udp_poll(struct socket *socket, struct poll_table *table)
{
	return POLLOUT | POLLWRNORM | datagram_poll(socket, &inet_of(socket)->queue, table);
}

static long udp_shutdown(struct socket *socket, unsigned how)
{
	struct inet_socket *inet = inet_of(socket);

	if (!inet->peer.port)
		return -ENOTCONN;
	socket->shut |= how;
	wake_up(&inet->queue.readable);
	return 0;
}

static u32 udp_bytes(struct socket *socket)
{
	return datagram_next_size(&inet_of(socket)->queue);
}

static const struct socket_ops udp_ops = {
	.bind = inet_bind, .connect = udp_connect, .name = inet_name, .send = udp_send, .receive = udp_receive,
	.poll = udp_poll, .shutdown = udp_shutdown, .readable_bytes = udp_bytes, .pages_held = inet_pages_held,
	.release = inet_release,
};
