/* The two byte streams of a connection (connection.c): sends, reads and polls. */
#include <arch.h>
#include <async.h>
#include <frame.h>
#include <lib.h>
#include <sched.h>
#include <task.h>
#include <window.h>

#include "stream.h"

#define ROOM_TO_POLL 4096u      /* bytes free before poll calls a stream writable */

u32 stream_piece = PAGE_SIZE;
u64 streamed_whole;

static bool side_sendable(const struct side *side)
{
	return ring_room(&side->ring) || side->deaf;
}

/* Records the sender of the next bytes in message->rights, if the last bytes had another sender. */
static long stream_sign(const struct socket *socket, struct side *side, struct message *message)
{
	message->sender = message_cred(socket, side->owner, message);
	if (!message->rights && memcmp(&message->sender, &side->put_by, sizeof(message->sender))) {
		message->rights = rights_mark();
		if (!message->rights)
			return -ENOBUFS;
	}
	if (message->rights)
		message->rights->cred = message->sender;
	return 0;
}

/* Makes the last byte urgent; an earlier urgent byte becomes ordinary data. */
static void make_urgent(struct side *side)
{
	side->urgent = URGENT;
	side->mark = side->put - 1;
	if (side->owner && side->owner->file)
		async_urgent(side->owner->file);
}

/*
 * Writes to the ring, with what comes with the message: files, another sender than before, an urgent mark. The reader
 * may run between two pages of a write, and take the first page before these are there. So a write that has any of them
 * ends with its first page.
 */
static long put_signed(const struct socket *socket, struct side *to, struct message *m, size_t most)
{
	long n = stream_sign(socket, to, m);
	size_t left = m->data->left;

	if (n)
		return n;
	if (m->rights || m->flags & MSG_OOB)
		most = MIN(most, (size_t)(PAGE_SIZE - (to->ring.head & (PAGE_SIZE - 1))));
	n = ring_write(&to->ring, m->data, most);
	if (n < 0)
		return n;
	if (m->rights) {
		m->rights->at = to->put;
		m->rights->end = to->put + left;
		list_add_tail(&m->rights->link, &to->rights);
		to->rights_count++;
		m->rights = NULL;
		to->put_by = m->sender;
	}
	to->put += (u64)n;
	if (m->flags & MSG_OOB && n && !m->data->left)
		make_urgent(to);
	return n;
}

/* Writes to the buffer: returns the bytes written; 0: another sender took the room, or the receiver is gone. */
static long stream_put(const struct socket *socket, struct side *side, struct message *message, size_t most)
{
	long n = mutex_lock_killable(&side->putting);

	if (n)
		return n;
	if (ring_room(&side->ring) && !side->deaf)
		n = put_signed(socket, side, message, most);
	mutex_unlock(&side->putting);
	return n;
}

/*
 * A send to an end that takes no data. The first one after the peer's orderly close goes out, as on a network, and is
 * answered by a reset, which the next call reports. Another thread may have disconnected the socket from `connection`,
 * of which it was `end`.
 */
static long send_to_deaf(struct socket *socket, struct connection *connection, u32 end, struct message *message)
{
	struct side *to = &connection->side[far_end(connection, end)];
	long error;

	if (to->shut) {
		error = socket->family == AF_INET ? socket_error(socket) : 0;
		return error && error != -EPIPE ? error : socket_broken_pipe(message->flags);
	}
	if (!message->data->left)
		return 0;       /* no packet goes out, and none answers */
	if (to->owner)
		to->owner->error = ECONNRESET;
	stream_reset(connection, end);
	return (long)message->data->left;
}

/* Whether a send's last bytes wait for more (TCP_CORK, MSG_MORE). An urgent byte does not. */
static bool holds_back(const struct socket *socket, const struct message *message)
{
	return socket->family == AF_INET && (socket->corked || message->flags & MSG_MORE) &&
	       !(message->flags & MSG_OOB);
}

long stream_send(struct socket *socket, struct message *message)
{
	struct connection *connection = socket->connection;
	u32 end = socket->end;
	struct side *to = &connection->side[far_end(connection, end)];
	u64 deadline = socket_deadline(socket->settings.send_timeout);
	bool hold = holds_back(socket, message);
	long done = 0, n;

	for (;;) {
		if (to->deaf)
			return done ? done : send_to_deaf(socket, connection, end, message);
		if (ring_room(&to->ring) && message->data->left) {
			/*
			 * As in a pipe: a reader that waits or keeps up runs after each page, the last one too, while
			 * the page is in the cache; with stream.transfer=buffer it does not.
			 */
			bool keeps_up = waitq_active(&to->readable) || !ring_used(&to->ring);
			bool hand_over = !message->nonblock && message->data->left >= stream_piece && keeps_up && !hold;

			if (hold && tcp_hold(to))
				return done ? done : -ENOBUFS;
			if (!hold && to->hold)
				tcp_show(to);
			n = stream_put(socket, to, message,
				hand_over ? PAGE_SIZE - (to->ring.head & (PAGE_SIZE - 1)) : message->data->left);
			if (n < 0)
				return done ? done : n;
			if (n == 0)
				continue;
			done += n;
			streamed_whole += n > (long)PAGE_SIZE;
			if (!hold || tcp_hold_part(to, socket)) {
				wake_up(&to->readable);
				if (connection->side[end].hold)
					tcp_hold_answered(&connection->side[end], to->owner);
			}
			if (hand_over && !signal_pending()) {
				yield();
				if (message->data->left)
					continue;
			}
			if (!message->data->left || (hand_over && signal_pending()))
				return done;
			if (ring_room(&to->ring))
				continue;       /* the reader has made room; or the copy faulted, and does so again */
		}
		if (!message->data->left)
			return done;
		if (hold) {
			tcp_show(to);
			wake_up(&to->readable);
		}
		if (socket->family == AF_INET)
			tcp_watch(socket);
		n = SOCKET_WAIT(&to->writable, side_sendable(to), message->nonblock, deadline);
		if (n)
			return done ? done : n;
	}
}

static bool at_mark(const struct side *from)
{
	return from->urgent != NO_MARK && from->taken == from->mark;
}

/*
 * Bytes that one copy may take from position `start`: up to the mark, up to the end of the first message with files,
 * and with SO_PASSCRED up to the next byte of another sender.
 */
static size_t run_length(const struct socket *socket, const struct side *from, const struct message *message, u64 start)
{
	bool one_sender = socket_option(socket, SO_PASSCRED), files = message->rights;
	const struct ucred *sender = &from->taken_by;
	u64 end = start + message->data->left;
	const struct rights *rights;

	if (from->hold)
		end = MIN(end, from->taken + side_shown(from));
	if (from->urgent != NO_MARK && from->taken < from->mark)
		end = MIN(end, from->mark);
	if (files)
		end = MIN(end, message->rights->end);
	list_for_each_window(rights, &from->rights, link) {
		if (rights->at >= end)
			break;
		if (rights->at <= start)
			sender = &rights->cred;
		else if (files || (one_sender && memcmp(sender, &rights->cred, sizeof(*sender))))
			return (size_t)(rights->at - start);
		if (!rights->count)
			continue;
		files = true;
		end = MIN(end, MAX(rights->end, start + 1));
	}
	return (size_t)(end - start);
}

/* Who sent the byte at position `start`, and the files that come with n bytes from there. */
static void peek_rights(struct side *from, struct message *message, u64 start, u32 n)
{
	struct rights *rights;

	message->sender = from->taken_by;
	list_for_each_window(rights, &from->rights, link) {
		if (rights->at >= start + n)
			return;
		if (rights->at <= start)
			message->sender = rights->cred;
		if (!rights->count)
			continue;
		message->rights = rights_peek(rights);
		return;
	}
}

/* Removes the rights of bytes that were taken. The files go to the message, or without one they are closed. */
static void take_rights(struct side *from, struct message *message)
{
	struct rights *rights;

	list_until_empty_window(rights, &from->rights, link) {
		if (rights->at >= from->taken)
			break;
		from->taken_by = rights->cred;
		list_del(&rights->link);
		from->rights_count--;
		if (message && rights->count) {
			rights_taken(rights);
			message->rights = rights;
		} else {
			rights_free(rights);
		}
	}
}

/* Whether a receive ends, though more bytes are queued: it has a message with files, or the next sender is another. */
static bool message_ends(const struct socket *socket, const struct side *from, const struct message *message)
{
	const struct rights *next = list_empty(&from->rights) ? NULL :
				    list_first_entry(&from->rights, const struct rights, link);

	if (next && next->at > from->taken)
		next = NULL;
	if (message->rights)
		return next || from->taken >= message->rights->end;
	return next && socket_option(socket, SO_PASSCRED) &&
	       memcmp(&next->cred, &message->sender, sizeof(next->cred));
}

/* Whether a read skips the next byte: it is urgent, and urgent data is not read in line (SO_OOBINLINE). */
static bool left_out(const struct socket *socket, const struct side *from)
{
	return at_mark(from) && !socket_option(socket, SO_OOBINLINE);
}

static void leave_out(struct side *from)
{
	ring_skip(&from->ring, 1);
	from->taken++;
	from->urgent = NO_MARK;
	take_rights(from, NULL);
	wake_up(&from->writable);
}

static bool side_receivable(const struct socket *socket, const struct side *from)
{
	return side_shown(from) || from->ended || socket->error;
}

static void count_taken(struct side *from, u32 n)
{
	from->taken += n;
	if (from->urgent != NO_MARK && from->taken > from->mark)
		from->urgent = NO_MARK;
	wake_up(&from->writable);
}

/* TCP's MSG_TRUNC: the next run is read, or peeked at, without a copy. */
static long pass_over(const struct socket *socket, struct side *from, struct message *message, bool peek)
{
	u32 n = (u32)MIN(run_length(socket, from, message, from->taken), (size_t)ring_used(&from->ring));

	for (size_t left = n, part; left; left -= part) {
		(void)iter_place(message->data, &part);
		part = MIN(part, left);
		iter_advance(message->data, part);
	}
	if (!peek) {
		ring_skip(&from->ring, n);
		count_taken(from, n);
	}
	return n;
}

/* Reads the next run: returns the bytes copied; 0: look again. The mark and rights move with the bytes. */
static long stream_take(const struct socket *socket, struct side *from, struct message *message)
{
	bool peek = message->flags & MSG_PEEK;
	u64 start = from->taken;
	long n;

	if (left_out(socket, from) && (!peek || side_shown(from) == 1)) {
		leave_out(from);
		return 0;
	}
	if (message->flags & MSG_TRUNC && socket->family == AF_INET)
		return pass_over(socket, from, message, peek);
	if (peek) {
		start += left_out(socket, from);
		n = ring_peek(&from->ring, message->data, (size_t)(start - from->taken),
			      run_length(socket, from, message, start));
		if (n > 0)
			peek_rights(from, message, start, (u32)n);
		return n;
	}
	n = ring_read(&from->ring, message->data, run_length(socket, from, message, start));
	if (n > 0) {
		count_taken(from, (u32)n);
		take_rights(from, message);
		message->sender = from->taken_by;
	}
	return n;
}

/* A peek at TCP's data waits for as much as a read does, but not beyond an urgent byte. */
static bool peek_ends(const struct socket *socket, const struct side *from, long enough)
{
	return (long)side_shown(from) >= enough || from->urgent != NO_MARK || from->ended || socket->error;
}

/* A call for no bytes waits until there are some, too. */
long stream_receive(struct socket *socket, struct message *message)
{
	struct side *from = &socket->connection->side[socket->end];
	u64 deadline = socket_deadline(socket->settings.receive_timeout);
	long enough = MAX((long)message->data->left, 1), done = 0, n;

	if (message->address)
		message->address->len = 0;
	if (!(message->flags & MSG_WAITALL))
		enough = MIN(enough, (long)socket->settings.low_water);
	if (message->flags & MSG_PEEK && socket->family == AF_INET) {
		n = SOCKET_WAIT(&from->readable, peek_ends(socket, from, enough), message->nonblock, deadline);
		if (n && !side_shown(from))
			return n;
	}
	for (;;) {
		n = SOCKET_WAIT(&from->readable, side_receivable(socket, from), message->nonblock || done >= enough,
				deadline);
		if (n)
			return done ? done : n;
		if (!side_shown(from))
			return done ? done : from->fin ? 0 : socket_error(socket);
		if (!message->data->left)
			return done;
		if (done && at_mark(from))
			return done;
		n = mutex_lock_killable(&from->taking);
		if (!n) {
			n = side_shown(from) ? stream_take(socket, from, message) : 0;
			mutex_unlock(&from->taking);
		}
		if (n < 0)
			return done ? done : n;
		if (n == 0)
			continue;
		done += n;
		if (message->flags & MSG_PEEK || message_ends(socket, from, message))
			return done;
		/* A run that ended at the rights of the next byte goes on with that byte. */
		if (done >= enough && list_empty(&from->rights))
			return done;
	}
}

long stream_receive_urgent(struct socket *socket, struct message *message)
{
	struct connection *connection = socket->connection;
	struct side *from = connection ? &connection->side[socket->end] : NULL;
	u64 mark;
	long n;

	if (!from || from->urgent != URGENT || socket_option(socket, SO_OOBINLINE))
		return -EINVAL;
	if (message->address)
		message->address->len = 0;
	mark = from->mark;
	connection->refs++;     /* the copy may sleep, and another thread disconnect the socket */
	n = ring_peek(&from->ring, message->data, (size_t)(mark - from->taken),
		      MIN(message->data->left, (size_t)1));
	/* Another byte may be urgent now, or none. */
	if (n >= 0 && !(message->flags & MSG_PEEK) && from->urgent == URGENT && from->mark == mark)
		from->urgent = URGENT_READ;
	connection_put(connection);
	message->out_flags |= n < 0 ? 0 : MSG_OOB;
	return n;
}

bool stream_at_mark(const struct socket *socket)
{
	return socket->connection && at_mark(&socket->connection->side[socket->end]);
}

/* How many bytes a read would return. An urgent byte alone is reported by POLLPRI, on a Unix socket by both. */
static u32 bytes_to_read(const struct socket *socket, const struct side *mine)
{
	u32 used = side_shown(mine);

	if (mine->urgent == NO_MARK || !left_out(socket, mine))
		return used;
	return used != 1 || (socket->family == AF_UNIX && mine->urgent == URGENT) ? used : 0;
}

static unsigned connection_poll(struct socket *socket, struct poll_table *table)
{
	struct connection *connection = socket->connection;
	struct side *mine = &connection->side[socket->end];
	struct side *other = &connection->side[far_end(connection, socket->end)];
	unsigned ready = 0;

	poll_wait(table, &mine->readable);
	poll_wait(table, &other->writable);
	if (bytes_to_read(socket, mine) >= socket->poll_water)
		ready |= POLLIN | POLLRDNORM;
	if (mine->urgent == URGENT)
		ready |= POLLPRI;
	if (mine->ended)
		ready |= POLLIN | POLLRDNORM | POLLRDHUP | (other->shut ? POLLHUP : 0);
	if (socket->error)
		ready |= POLLERR;
	if (ring_room(&other->ring) >= ROOM_TO_POLL || other->deaf)
		ready |= POLLOUT | POLLWRNORM;
	return ready;
}

/* A closed socket polls as hung up, even before it is connected. */
static unsigned closed_poll(const struct socket *socket)
{
	unsigned ready = POLLOUT | POLLWRNORM | POLLHUP;

	if (socket->shut & SHUT_RD)
		ready |= POLLIN | POLLRDNORM | POLLRDHUP;
	return socket->error ? ready | POLLERR : ready;
}

unsigned stream_poll(struct socket *socket, struct poll_table *table)
{
	if (socket->connection)
		return connection_poll(socket, table);
	poll_wait(table, &socket->accepting);
	if (socket->listening)
		return socket_listener_poll(socket);
	return socket->asking ? 0 : closed_poll(socket);
}

void stream_low_water_changed(struct socket *socket)
{
	const struct side *mine = socket->connection ? &socket->connection->side[socket->end] : NULL;

	if (mine && (mine->fin || bytes_to_read(socket, mine) >= socket->poll_water))
		stream_wake(socket->connection, socket->end);
}

u32 stream_bytes(struct socket *socket)
{
	const struct side *mine = socket->connection ? &socket->connection->side[socket->end] : NULL;

	if (mine && socket->family == AF_INET && mine->urgent != NO_MARK && !socket_option(socket, SO_OOBINLINE))
		return (u32)(mine->mark - mine->taken);
	return mine ? side_shown(mine) : 0;
}
