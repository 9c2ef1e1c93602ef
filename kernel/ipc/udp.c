/* UDP and UDP-Lite within this machine: a datagram goes directly to the receiver's queue. */
#include <abi/socket.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>

#include "inet.h"

#define TTL_MOST 255
#define HEADER_BYTES 8

static long udp_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	(void)nonblock;
	if (address->len >= sizeof(address->family) && address->family == AF_UNSPEC) {
		inet_forget_name(inet_of(socket));
		return 0;
	}
	return inet_aim(socket, address);
}

long udp_read_control(struct message *message, s32 type, const void *data, u32 size)
{
	struct packet *packet = &message->packet;
	struct in_pktinfo info;
	s32 value;

	if (type == IP_PKTINFO) {
		if (size != sizeof(info))
			return -EINVAL;
		memcpy(&info, data, sizeof(info));
		if (info.interface && info.interface != LOOPBACK_INDEX)
			return -ENODEV;
		packet->address = network32(info.local);
		return packet->address && !inet_is_local(packet->address) ? -ENETUNREACH : 0;
	}
	if (size == 1 && type == IP_TOS)
		value = *(const u8 *)data;
	else if (size == sizeof(value))
		memcpy(&value, data, sizeof(value));
	else
		return -EINVAL;
	if (type == IP_TTL && value >= 1 && value <= TTL_MOST) {
		packet->ttl = (u8)value;
		packet->has_ttl = true;
	} else if (type == IP_TOS && value >= 0 && value <= 255) {
		packet->tos = (u8)value;
		packet->has_tos = true;
	} else {
		return -EINVAL;
	}
	return 0;
}

static void write_error(struct control *out, const struct message *message)
{
	struct {
		u32 error;
		u8 origin, type, code, pad;
		u32 info, data;
		struct sockaddr_in offender;
	} e = { .error = message->packet.error, .origin = ERROR_FROM_ICMP, .type = ICMP_UNREACHABLE,
		.code = ICMP_NO_PORT };
	struct sockaddr_in from = { .family = AF_INET, .address = network32(INADDR_LOOPBACK) };

	e.offender = from;
	control_put(out, IPPROTO_IP, IP_RECVERR, &e, sizeof(e));
}

void udp_write_control(const struct socket *socket, struct control *out, const struct message *message)
{
	const struct inet_socket *inet = inet_of(socket);
	const struct packet *packet = &message->packet;
	u32 to = network32(packet->address);
	struct in_pktinfo info = { .interface = LOOPBACK_INDEX, .local = to, .address = to };
	s32 ttl = packet->ttl;

	if (message->flags & MSG_ERRQUEUE) {
		write_error(out, message);
		return;
	}
	if (inet_option(inet, WANT_PKTINFO))
		control_put(out, IPPROTO_IP, IP_PKTINFO, &info, sizeof(info));
	if (inet_option(inet, WANT_TTL))
		control_put(out, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	if (inet_option(inet, WANT_TOS))
		control_put(out, IPPROTO_IP, IP_TOS, &packet->tos, sizeof(packet->tos));
}

/* What the receiver is told of a datagram, in place of what the sender asked for. */
static void fill_packet(const struct inet_socket *inet, struct packet *packet, u32 to)
{
	packet->address = to;
	if (!packet->has_ttl)
		packet->ttl = (u8)inet_option(inet, TTL);
	if (!packet->has_tos)
		packet->tos = (u8)inet_option(inet, TOS);
}

/*
 * Nobody has the port. The next call reports it, as from an ICMP answer, if the socket is connected or asks for errors.
 * The answer does not find a socket that is connected to another address.
 */
static void not_received(struct inet_socket *inet, struct datagram *datagram, struct message *message,
			 const struct endpoint *to)
{
	struct address address;

	if (inet->peer.address && (inet->peer.address != to->address ||
				   (inet->peer.port && inet->peer.port != to->port))) {
		datagram_discard(datagram);
		return;
	}
	if (inet->peer.address || inet_option(inet, WANT_ERRORS))
		inet->socket->error = ECONNREFUSED;
	if (!inet_option(inet, WANT_ERRORS) || !datagram_room(&inet->errors)) {
		datagram_discard(datagram);
		return;
	}
	inet_format(to, &address);
	message->packet.error = ECONNREFUSED;
	datagram_set_address(datagram, &address);
	datagram_append(&inet->errors, datagram, message);
	wake_up(&inet->queue.readable);
}

/*
 * Whether a datagram of UDP-Lite has a checksum over as much as its receiver asks for. There is no checksum, but Linux
 * drops a datagram also for the coverage that its sender states.
 */
static bool covers_enough(const struct inet_socket *from, const struct inet_socket *to, long size)
{
	s32 covered = inet_option(from, SEND_COVERAGE), wanted = inet_option(to, RECEIVE_COVERAGE);
	bool whole = covered <= 0 || covered >= size + HEADER_BYTES;

	return whole || wanted == COVERAGE_UNSET || (wanted && covered >= wanted);
}

/* A datagram on its way out. With MSG_MORE it stays at the socket, and the next send adds to it. */
struct outgoing {
	struct endpoint from, to;
	struct packet packet;           /* what the sender gave */
	struct datagram *datagram;
};

/* Where a datagram goes and comes from: 0 or a negative errno. */
static long find_route(struct socket *socket, const struct message *message, struct outgoing *out)
{
	struct inet_socket *inet = inet_of(socket);
	bool addressed = message->address && message->address->len;
	long error;

	out->to = inet->peer;
	if (message->named && !addressed)
		return -EINVAL;
	if (addressed) {
		if (message->address->len >= sizeof(struct sockaddr_in) && message->address->family == AF_UNSPEC)
			message->address->family = AF_INET;     /* as on Linux */
		error = inet_destination(socket, message->address, message->packet.address, &out->to);
		if (error)
			return error;
	}
	error = inet_bind_any(inet);    /* before other checks, as on Linux */
	if (error)
		return error;
	if (addressed && !out->to.port)
		return -EINVAL;
	if (!out->to.address)
		return -EDESTADDRREQ;
	if (message->data->left > DATAGRAM_MAX)
		return -EMSGSIZE;
	error = socket_error(socket);
	if (error)
		return error;
	if (socket->shut & SHUT_WR)
		return -EPIPE;
	out->from = (struct endpoint){ inet_source(inet), inet->name.port };
	if (message->packet.address)
		out->from.address = message->packet.address;
	if (out->from.address == INADDR_ANY)
		out->from.address = INADDR_LOOPBACK;
	out->packet = message->packet;
	return 0;
}

/* If the receiver's queue is full, the datagram is lost, as UDP permits. */
static void deliver_datagram(struct inet_socket *inet, struct message *message, const struct outgoing *out)
{
	struct inet_socket *to = inet_receiver(inet->socket->protocol, &out->to, &out->from);
	long size = (long)datagram_size(out->datagram);

	message->packet = out->packet;
	fill_packet(inet, &message->packet, out->to.address);
	if (!to)
		not_received(inet, out->datagram, message, &out->to);
	else if (covers_enough(inet, to, size) && datagram_room(&to->queue))
		datagram_append(&to->queue, out->datagram, message);
	else
		datagram_discard(out->datagram);
}

/* MSG_MORE: the datagram waits for more. */
static long keep_outgoing(struct inet_socket *inet, const struct outgoing *out)
{
	/* A datagram that another thread has put there stays. */
	struct outgoing *kept = inet->outgoing ? NULL : kmalloc(sizeof(*kept));

	if (!kept) {
		datagram_discard(out->datagram);
		return -ENOBUFS;
	}
	*kept = *out;
	inet->outgoing = kept;
	return 0;
}

void udp_drop_outgoing(struct inet_socket *inet)
{
	if (!inet->outgoing)
		return;
	datagram_discard(inet->outgoing->datagram);
	kfree(inet->outgoing);
	inet->outgoing = NULL;
}

static long udp_send(struct socket *socket, struct message *message)
{
	struct inet_socket *inet = inet_of(socket);
	struct outgoing out = { .datagram = NULL };
	long size = (long)message->data->left, error = 0;
	struct address sender;

	/* What no length of UDP can say is refused first, as on Linux. */
	if (size > 0xffff)
		return -EMSGSIZE;
	if (inet->outgoing) {
		/* The copy may sleep: the datagram belongs to this call meanwhile. */
		out = *inet->outgoing;
		kfree(inet->outgoing);
		inet->outgoing = NULL;
	} else {
		error = find_route(socket, message, &out);
	}
	if (error)
		return error;
	inet_format(&out.from, &sender);
	out.datagram = datagram_extend(out.datagram, message, &sender);
	if (IS_ERR(out.datagram))
		return PTR_ERR(out.datagram);
	if (message->flags & MSG_MORE)
		error = keep_outgoing(inet, &out);
	else
		deliver_datagram(inet, message, &out);
	return error ? error : size;
}

static long udp_receive(struct socket *socket, struct message *message)
{
	return datagram_take(socket, &inet_of(socket)->queue, message);
}

long udp_receive_error(struct socket *socket, struct message *message)
{
	struct inet_socket *inet = inet_of(socket);
	long n = datagram_take_now(&inet->errors, message);

	if (n < 0)
		return n;
	message->out_flags |= MSG_ERRQUEUE;
	socket->error = inet->errors.count ? ECONNREFUSED : 0;
	return n;
}

static unsigned udp_poll(struct socket *socket, struct poll_table *table)
{
	struct inet_socket *inet = inet_of(socket);
	unsigned ready = POLLOUT | POLLWRNORM | POLLWRBAND | datagram_poll(socket, &inet->queue, table);

	return inet->errors.count ? ready | POLLERR : ready;
}

static long udp_shutdown(struct socket *socket, unsigned how)
{
	struct inet_socket *inet = inet_of(socket);

	socket->shut |= how;
	wake_up(&inet->queue.readable);
	return inet->peer.address ? 0 : -ENOTCONN;
}

static void udp_fit(struct socket *socket)
{
	inet_of(socket)->queue.limit = socket->settings.buffer[1];
}

static u32 udp_bytes(struct socket *socket)
{
	return datagram_next_size(&inet_of(socket)->queue);
}

const struct socket_ops udp_ops = {
	.bind = inet_bind, .connect = udp_connect, .name = inet_name, .send = udp_send, .receive = udp_receive,
	.poll = udp_poll, .shutdown = udp_shutdown, .readable_bytes = udp_bytes, .pages_held = inet_pages_held,
	.fit = udp_fit, .set_option = inet_set_option, .get_option = inet_get_option, .release = inet_release,
};
