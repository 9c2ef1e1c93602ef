/*
 * A connection of two stream sockets, Unix or TCP: how it begins, how it ends for one socket or both, and what its
 * rings hold. Sends and reads are in stream.c.
 */
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <window.h>

#include "stream.h"

#define SENDER_SHARE 4096u      /* of a ring's bytes: what would wait at the sender, beyond the receiver's window */

static void init_side(struct side *side)
{
	ring_init(&side->ring, SOCKET_BUFFER);
	list_init(&side->rights);
	side->put_by = side->taken_by = (struct ucred){ .pid = 0, .uid = UID_NOBODY, .gid = UID_NOBODY };
	waitq_init(&side->readable);
	waitq_init(&side->writable);
	mutex_init(&side->putting, MUTEX_STREAM_PUT);
	mutex_init(&side->taking, MUTEX_STREAM_TAKE);
}

struct connection *connection_new(void)
{
	struct connection *connection = kzalloc(sizeof(*connection));

	if (connection) {
		connection->refs = 2;
		init_side(&connection->side[0]);
		init_side(&connection->side[1]);
	}
	return connection;
}

static void drop_rights(struct side *side)
{
	struct rights *rights;

	list_until_empty_window(rights, &side->rights, link) {
		list_del(&rights->link);
		side->rights_count--;
		rights_free(rights);
	}
}

/* The pages that the queued data takes, with the records of who sent it: up to one record for each byte. */
static u32 side_pages(const struct side *side)
{
	return ring_pages(&side->ring) + side->rights_count * (u32)sizeof(struct rights) / PAGE_SIZE;
}

u32 stream_pages_held(const struct socket *socket)
{
	const struct connection *connection = socket->connection;
	u32 pages;

	if (!connection)
		return 0;
	/* Count the sent data for this end until the other end has closed. */
	pages = side_pages(&connection->side[far_end(connection, socket->end)]);
	return connection->refs == 1 && !connection->alone ?
	       pages + side_pages(&connection->side[socket->end]) : pages;
}

void stream_each_rights(const struct socket *socket, void (*show)(struct rights *, void *), void *argument)
{
	struct rights *rights;

	if (!socket->connection)
		return;
	list_for_each_entry(rights, &socket->connection->side[socket->end].rights, link)
		show(rights, argument);
}

void stream_wake(struct connection *connection, unsigned end)
{
	wake_up(&connection->side[end].readable);
	wake_up(&connection->side[far_end(connection, end)].writable);
}

/* Polls of a socket that was disconnected may still wait in the queues. */
static void detach_queues(struct side *side)
{
	waitq_detach(&side->readable);
	waitq_detach(&side->writable);
}

void connection_put(struct connection *connection)
{
	if (--connection->refs)
		return;
	for (unsigned end = 0; end < 2; end++) {
		drop_rights(&connection->side[end]);
		tcp_hold_free(&connection->side[end]);
		ring_free(&connection->side[end].ring);
		detach_queues(&connection->side[end]);
	}
	kfree(connection);
}

static void close_direction(struct side *to)
{
	to->ended = to->shut = to->deaf = true;
	tcp_show(to);
}

void stream_reset(struct connection *connection, unsigned told)
{
	struct side *side = &connection->side[told];
	bool sends_on = !connection->side[far_end(connection, told)].shut;

	if (side->owner)
		side->owner->error = side->fin && sends_on ? EPIPE : ECONNRESET;
	tcp_drop_held(&connection->side[0]);
	tcp_drop_held(&connection->side[1]);
	close_direction(&connection->side[0]);
	close_direction(&connection->side[1]);
	stream_wake(connection, 0);
	stream_wake(connection, 1);
}

static bool connection_over(const struct connection *connection)
{
	return connection->side[0].shut && connection->side[far_end(connection, 0)].shut;
}

bool stream_over(const struct socket *socket)
{
	return connection_over(socket->connection);
}

/*
 * What the other end sees of a close. Unread data or an abort: an error. A Unix socket's peer can neither send nor
 * receive any more. A TCP peer gets the end of the data; data that it sends afterwards resets the connection.
 */
static void tell_peer(struct connection *connection, unsigned end, u16 family, bool lost)
{
	struct side *mine = &connection->side[end], *other = &connection->side[far_end(connection, end)];

	if (family == AF_UNIX) {
		if (lost && other->owner)
			other->owner->error = ECONNRESET;
		close_direction(mine);
		close_direction(other);
	} else if (lost && !connection_over(connection)) {
		stream_reset(connection, far_end(connection, end));
	} else {
		other->fin |= !other->shut;
		close_direction(other);
		mine->deaf = true;
	}
}

void stream_leave(struct socket *socket, bool abort)
{
	struct connection *connection = socket->connection;
	struct side *mine;
	bool told;              /* the peer has had the end of the data */

	if (!connection)
		return;
	mine = &connection->side[socket->end];
	told = socket->family == AF_INET && connection->side[far_end(connection, socket->end)].shut;
	tell_peer(connection, socket->end, socket->family, abort || side_shown(mine));
	mine->owner = NULL;
	drop_rights(mine);
	ring_free(&mine->ring);
	if (!told)
		stream_wake(connection, far_end(connection, socket->end));
	socket->connection = NULL;
	connection_put(connection);
}

/* The bytes that one end may send before the other reads. On TCP the buffers of both count: the larger one. */
static void fit_direction(const struct socket *from, struct side *to)
{
	u32 size = from->settings.buffer[0];

	if (from->family == AF_INET && to->owner)
		size = MAX(size, to->owner->settings.buffer[1]);
	if (to->owner && size != to->ring.size && ring_resize(&to->ring, size) > 0)
		wake_up(&to->writable);
}

void stream_fit(struct socket *socket)
{
	struct connection *connection = socket->connection;
	const struct socket *peer = connection ? connection->side[far_end(connection, socket->end)].owner : NULL;

	if (!peer)
		return;
	fit_direction(socket, &connection->side[far_end(connection, socket->end)]);
	fit_direction(peer, &connection->side[socket->end]);
}

void connection_join(struct connection *connection, struct socket *first, struct socket *second)
{
	first->connection = second->connection = connection;
	connection->side[0].owner = first;
	connection->side[1].owner = second;
	first->end = 0;
	second->end = 1;
	stream_fit(first);
	socket_requeue(first);
}

void connection_join_self(struct connection *connection, struct socket *socket)
{
	connection->alone = true;
	connection->refs = 1;
	socket->connection = connection;
	connection->side[0].owner = socket;
	socket->end = 0;
	stream_fit(socket);
	socket_requeue(socket);
}

/* An end that neither reads nor sends resets a connection that brings it data. */
static void inet_shutdown(struct socket *socket, unsigned how)
{
	struct connection *connection = socket->connection;
	struct side *mine = &connection->side[socket->end];
	struct side *other = &connection->side[far_end(connection, socket->end)];

	mine->ended |= (how & SHUT_RD) != 0;
	if (how & SHUT_WR && !other->shut) {
		other->fin = true;
		close_direction(other);
		tcp_hold_answered(mine, other->owner);
		stream_wake(connection, far_end(connection, socket->end));
	}
	mine->deaf |= mine->ended && other->shut;
	stream_wake(connection, socket->end);
}

void stream_shut_before(struct socket *socket, unsigned how)
{
	struct connection *connection = socket->connection;
	struct side *other = &connection->side[far_end(connection, socket->end)];

	if (how & SHUT_RD)
		connection->side[socket->end].ended = true;
	if (how & SHUT_WR)
		other->shut = other->deaf = true;
}

static void unix_shutdown(struct socket *socket, unsigned how)
{
	struct connection *connection = socket->connection;

	if (how & SHUT_RD)
		close_direction(&connection->side[socket->end]);
	if (how & SHUT_WR)
		close_direction(&connection->side[!socket->end]);
	stream_wake(connection, 0);
	stream_wake(connection, 1);
}

void stream_shutdown(struct socket *socket, unsigned how)
{
	if (socket->family == AF_INET)
		inet_shutdown(socket, how);
	else
		unix_shutdown(socket, how);
}

static const struct side *far_side(const struct socket *socket)
{
	const struct connection *connection = socket->connection;

	return connection ? &connection->side[far_end(connection, socket->end)] : NULL;
}

u32 stream_unread(const struct socket *socket)
{
	const struct side *other = far_side(socket);

	return other ? ring_used(&other->ring) : 0;
}

u32 stream_unsent(const struct socket *socket)
{
	const struct side *other = far_side(socket);
	u32 used = other ? ring_used(&other->ring) : 0, window;

	if (!used || !other->owner)
		return 0;
	window = other->ring.size - MIN(SENDER_SHARE, other->ring.size / 2);
	return MAX(used - side_shown(other), used > window ? used - window : 0);
}
