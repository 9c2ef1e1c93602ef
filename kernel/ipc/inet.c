/*
 * Internet sockets within this machine: TCP, UDP and UDP-Lite between local addresses. There is no network device and
 * no packets: a connection is a pair of byte streams, and a UDP datagram goes directly to the receiver's queue. This
 * file has addresses and ports.
 */
#include <abi/socket.h>
#include <arch.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#include "inet.h"

#define LOOPBACK 0x7f000001u
#define PORT_PRIVILEGED 1024u   /* lower ones need the superuser */
#define PORT_FIRST 32768u       /* the first of the ports that the kernel chooses from */
#define PORT_LAST 60999u

/* Bound sockets, by transport and port, and apart the accepted connections, which have their listener's port. */
#define BUCKETS 256u
enum transport { TCP, UDP, UDP_LITE, TRANSPORTS };
static struct list_head port_buckets[TRANSPORTS][BUCKETS], accepted_buckets[BUCKETS];
static u32 used_ports[TRANSPORTS][(PORT_LAST - PORT_FIRST + 32) / 32];  /* bit n: port PORT_FIRST + n has a socket */

static enum transport transport_of(u16 protocol)
{
	return protocol == IPPROTO_TCP ? TCP : protocol == IPPROTO_UDP ? UDP : UDP_LITE;
}

struct socket *inet_new(u16 protocol)
{
	struct inet_socket *inet = kzalloc(sizeof(*inet));
	struct socket *socket = NULL;
	bool tcp = protocol == IPPROTO_TCP;

	if (inet)
		socket = socket_new(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, protocol, tcp ? &tcp_ops : &udp_ops);
	if (!socket) {
		kfree(inet);
		return NULL;
	}
	inet->socket = socket;
	inet->uid = current->cred.euid;
	list_init(&inet->link);
	list_init(&inet->waiting);
	list_init(&inet->callers);
	datagram_init(&inet->queue);
	datagram_init(&inet->errors);
	socket->data = inet;
	return socket;
}

long inet_create(int type, int protocol, struct socket **out)
{
	if ((u32)protocol >= IPPROTO_MAX)
		return -EINVAL;
	if (type == SOCK_RAW)
		return protocol && !capable() ? -EPERM : -EPROTONOSUPPORT;      /* raw sockets would need a network */
	if (type != SOCK_STREAM && type != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	if (!protocol)
		protocol = type == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
	if (type == SOCK_STREAM ? protocol != IPPROTO_TCP : protocol != IPPROTO_UDP && protocol != IPPROTO_UDPLITE)
		return -EPROTONOSUPPORT;
	*out = inet_new((u16)protocol);
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

void inet_format(const struct endpoint *endpoint, struct address *address)
{
	struct sockaddr_in in = {
		.family = AF_INET, .port = network16(endpoint->port), .address = network32(endpoint->address),
	};

	memcpy(address->bytes, &in, sizeof(in));
	address->len = sizeof(in);
}

bool inet_is_local(u32 address)
{
	return address == INADDR_ANY || address >> 24 == LOOPBACK >> 24;
}

static bool is_broadcast(u32 address)
{
	return address == BROADCAST || address == BROADCAST_LOOPBACK;
}

/* An address that several machines have. */
static bool is_group(u32 address)
{
	return is_broadcast(address) || address >> 28 == 0xe;
}

static bool share_option(const struct inet_socket *a, const struct inet_socket *b, unsigned option)
{
	return socket_option(a->socket, option) && socket_option(b->socket, option);
}

/* Sockets with SO_REUSEADDR share a port until one of them listens: then no other can bind it or listen. */
static bool inet_clash(const struct inet_socket *other, const struct inet_socket *wanted)
{
	u32 theirs = other->name.address, ours = wanted->name.address;

	if (other->socket->protocol != wanted->socket->protocol || other->name.port != wanted->name.port)
		return false;
	if (theirs != INADDR_ANY && ours != INADDR_ANY && theirs != ours)
		return false;
	if (share_option(other, wanted, SO_REUSEPORT) && other->uid == wanted->uid)
		return false;
	if (other->socket->connection && !other->port_given && stream_over(other->socket))
		return false;
	return !share_option(other, wanted, SO_REUSEADDR) || other->socket->listening;
}

static struct list_head *made_list(struct list_head *head)
{
	if (!head->next)
		list_init(head);
	return head;
}

static struct list_head *inet_bucket(u16 protocol, u16 port)
{
	return made_list(&port_buckets[transport_of(protocol)][port % BUCKETS]);
}

static struct list_head *accepted_bucket(u16 port)
{
	return made_list(&accepted_buckets[port % BUCKETS]);
}

void inet_add_accepted(struct inet_socket *inet)
{
	list_add(&inet->link, accepted_bucket(inet->name.port));
}

/* Whether a socket of the list has the port. `clashing`: count only sockets with which this one may not share it. */
static bool list_has_port(struct list_head *head, const struct inet_socket *wanted, bool clashing)
{
	const struct inet_socket *inet;

	list_for_each_window(inet, head, link)
		if (inet != wanted && inet->name.port == wanted->name.port && (!clashing || inet_clash(inet, wanted)))
			return true;
	return false;
}

/* The same of any other socket. An accepted connection holds its listener's port until it ends. */
static bool inet_port_taken(const struct inet_socket *wanted, bool clashing)
{
	u16 protocol = wanted->socket->protocol, port = wanted->name.port;

	return list_has_port(inet_bucket(protocol, port), wanted, clashing) ||
	       (protocol == IPPROTO_TCP && list_has_port(accepted_bucket(port), wanted, clashing));
}

bool inet_same_connection(const struct inet_socket *wanted)
{
	struct list_head *heads[] = {
		inet_bucket(IPPROTO_TCP, wanted->name.port), accepted_bucket(wanted->name.port),
	};
	const struct inet_socket *inet;

	for (int i = 0; i < 2; i++)
		list_for_each_window(inet, heads[i], link)
			if (inet != wanted && inet->name.port == wanted->name.port &&
			    inet->name.address == wanted->name.address && inet->peer.port == wanted->peer.port &&
			    inet->peer.address == wanted->peer.address && !inet->socket->listening &&
			    tcp_state(inet->socket) != TCP_CLOSE)
				return true;
	return false;
}

static void mark_port(const struct inet_socket *inet, bool in_use)
{
	u32 n = inet->name.port - PORT_FIRST, *word;

	if (n > PORT_LAST - PORT_FIRST)
		return;
	word = &used_ports[transport_of(inet->socket->protocol)][n / 32];
	*word = in_use ? *word | 1u << n % 32 : *word & ~(1u << n % 32);
}

static u16 free_port(u16 protocol)
{
	const u32 *used = used_ports[transport_of(protocol)];
	static u32 next;

	for_each_window(tries, 0, tries <= PORT_LAST - PORT_FIRST) {
		u32 n = next;

		next = n == PORT_LAST - PORT_FIRST ? 0 : n + 1;
		if (!(used[n / 32] >> n % 32 & 1))
			return (u16)(PORT_FIRST + n);
	}
	return 0;
}

/* Binds the port, or any free one for 0. */
static int inet_take_port(struct inet_socket *inet, u32 address, u16 port)
{
	u32 before = inet->name.address;

	inet->name.address = address;
	inet->name.port = port ? port : free_port(inet->socket->protocol);
	if (!inet->name.port || inet_port_taken(inet, true)) {
		inet->name = (struct endpoint){ before, 0 };
		return -EADDRINUSE;
	}
	list_add(&inet->link, inet_bucket(inet->socket->protocol, inet->name.port));
	mark_port(inet, true);
	return 0;
}

void inet_unbind(struct inet_socket *inet)
{
	if (list_empty(&inet->link))
		return;
	list_del(&inet->link);
	if (!inet_port_taken(inet, false))
		mark_port(inet, false);
	inet->last_port = inet->socket->type == SOCK_STREAM ? inet->name.port : 0;
	inet->name.port = 0;
}

void inet_forget_name(struct inet_socket *inet)
{
	if (!inet->port_given && !inet->bound_anew)
		inet_unbind(inet);
	if (!inet->address_given)
		inet->name.address = INADDR_ANY;
	inet->bound_anew = false;
	inet->peer = (struct endpoint){ 0, 0 };
}

int inet_bind_any(struct inet_socket *inet)
{
	return inet->name.port ? 0 : inet_take_port(inet, inet->name.address, 0);
}

int inet_aim(struct socket *socket, const struct address *address)
{
	struct inet_socket *inet = inet_of(socket);
	struct endpoint to;
	int error = inet_destination(socket, address, INADDR_ANY, &to);

	if (!error)
		error = inet_bind_any(inet);
	if (error)
		return error;
	if (inet->name.address == INADDR_ANY)
		inet->name.address = INADDR_LOOPBACK;
	inet->peer = to;
	return 0;
}

bool inet_port_clashes(const struct inet_socket *inet)
{
	return inet_port_taken(inet, true);
}

long inet_bind(struct socket *socket, const struct address *address)
{
	struct inet_socket *inet = inet_of(socket);
	struct endpoint e;
	struct address name = *address;
	int error;

	/* As on Linux. */
	if (name.len >= sizeof(struct sockaddr_in) && name.family == AF_UNSPEC) {
		name.family = AF_INET;
		error = inet_parse(&name, &e);
		if (!error && e.address != INADDR_ANY)
			error = -EAFNOSUPPORT;
	} else {
		error = inet_parse(&name, &e);
	}
	if (error)
		return error;
	if (!inet_is_local(e.address) && !is_group(e.address) && !inet_option(inet, FREEBIND))
		return -EADDRNOTAVAIL;
	if (e.port && e.port < PORT_PRIVILEGED && !capable())
		return -EACCES;
	if (inet->phase != UNCONNECTED && tcp_state(socket) == TCP_CLOSE && !inet->port_given &&
	    !inet->bound_anew) {
		inet_unbind(inet);      /* an ended connection keeps no port that the kernel chose */
		inet->name.port = 0;
	}
	if (inet->name.port || tcp_state(socket) != TCP_CLOSE)
		return -EINVAL;
	if (!e.port && inet_option(inet, LATE_PORT))
		inet->name.address = e.address;
	else
		error = inet_take_port(inet, e.address, e.port);
	if (error)
		return error;
	inet->last_port = 0;
	inet->address_given = e.address != INADDR_ANY;
	inet->port_given = e.port != 0;
	inet->bound_anew = inet->phase != UNCONNECTED;
	return 0;
}

long inet_name(struct socket *socket, struct address *address, enum socket_name which)
{
	const struct inet_socket *inet = inet_of(socket);
	bool tcp = socket->type == SOCK_STREAM;

	if (which == PEER_NAME && (tcp ? !socket->connection || stream_over(socket) : !inet->peer.port))
		return -ENOTCONN;
	if (which == OWN_NAME && !inet->name.port)
		inet_format(&(struct endpoint){ inet->name.address, inet->last_port }, address);
	else
		inet_format(which == OWN_NAME ? &inet->name : &inet->peer, address);
	return 0;
}

/* How well a socket's binding and peer fit: 0: not at all. */
static u32 binding_fit(const struct inet_socket *inet, u16 protocol, const struct endpoint *to,
		       const struct endpoint *from)
{
	bool connected = inet->peer.address && protocol != IPPROTO_TCP;

	if (inet->socket->protocol != protocol || inet->name.port != to->port ||
	    (protocol == IPPROTO_TCP && !inet->socket->listening))
		return 0;
	if (inet->name.address != INADDR_ANY && inet->name.address != to->address)
		return 0;
	if (connected && ((inet->peer.port && inet->peer.port != from->port) || inet->peer.address != from->address))
		return 0;
	return 1 + (inet->name.address != INADDR_ANY) + connected + (connected && inet->peer.port) +
	       socket_option(inet->socket, SO_BINDTODEVICE);
}

/* FNV-1a of the sender's address. */
static u32 sender_hash(const struct endpoint *from)
{
	u32 hash = 2166136261u;

	hash = (hash ^ (from->address & 0xffff)) * 16777619u;
	hash = (hash ^ from->address >> 16) * 16777619u;
	hash = (hash ^ from->port) * 16777619u;
	return hash ^ hash >> 15;
}

struct inet_socket *inet_receiver(u16 protocol, const struct endpoint *to, const struct endpoint *from)
{
	struct inet_socket *inet, *found = NULL;
	struct list_head *bucket = inet_bucket(protocol, to->port);
	u32 best = 0, sharers = 0, turn;

	list_for_each_window(inet, bucket, link) {
		u32 fits = binding_fit(inet, protocol, to, from);

		if (fits > best) {
			best = fits;
			found = inet;
			sharers = 0;
		}
		sharers += fits && fits == best && socket_option(inet->socket, SO_REUSEPORT);
	}
	if (sharers < 2)
		return found;
	turn = sender_hash(from) % sharers;
	list_for_each_window(inet, bucket, link) {
		if (binding_fit(inet, protocol, to, from) == best && socket_option(inet->socket, SO_REUSEPORT) &&
		    turn-- == 0)
			return inet;
	}
	return found;
}

u32 inet_source(const struct inet_socket *inet)
{
	return is_group(inet->name.address) ? INADDR_ANY : inet->name.address;
}

/* The address "any" means the address of the source or, if it has none, this machine. */
int inet_destination(const struct socket *socket, const struct address *address, u32 source, struct endpoint *to)
{
	bool may_broadcast = socket->type == SOCK_STREAM || socket_option(socket, SO_BROADCAST);
	int error = inet_parse(address, to);

	if (error)
		return error;
	if (is_broadcast(to->address) && !may_broadcast)
		return -EACCES;
	if (!inet_is_local(to->address) || (to->address == BROADCAST_LOOPBACK && socket->type == SOCK_STREAM))
		return -ENETUNREACH;
	if (to->address == INADDR_ANY)
		to->address = source ? source : inet_source(inet_of(socket));
	if (to->address == INADDR_ANY)
		to->address = LOOPBACK;
	return 0;
}

void inet_release(struct socket *socket)
{
	struct inet_socket *inet = inet_of(socket);

	if (socket->type == SOCK_STREAM)
		tcp_linger(socket);
	inet_unbind(inet);
	if (socket->type == SOCK_STREAM)
		tcp_leave(socket);
	udp_drop_outgoing(inet);
	datagram_free(&inet->queue);
	datagram_free(&inet->errors);
	kfree(inet);
}

u32 inet_pages_held(const struct socket *socket)
{
	const struct inet_socket *inet = inet_of(socket);
	const struct socket *embryo;
	u32 pages = stream_pages_held(socket);

	pages += datagram_pages_held(&inet->queue) + datagram_pages_held(&inet->errors);
	pages += socket->pending_count * SOCKET_BYTES / PAGE_SIZE;
	list_for_each_window(embryo, &socket->pending, pending_link) {
		pages += stream_pages_held(embryo);
	}
	return pages;
}
