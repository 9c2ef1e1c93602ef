/* A connection of two byte streams. */
#include "stream.h"

#include <arch.h>
#include <async.h>
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <sched.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#define ROOM_TO_POLL 4096u	/* bytes free before poll calls a stream writable */

static void init_side(struct side *s)
{
	ring_init(&s->ring, SOCKET_BUFFER);
	list_init(&s->rights);
	s->put_by = s->taken_by = (struct ucred){ .pid = 0, .uid = UID_NOBODY, .gid = UID_NOBODY };
	waitq_init(&s->readable);
	waitq_init(&s->writable);
	mutex_init(&s->putting);
	mutex_init(&s->taking);
}

struct connection *connection_new(void)
{
	struct connection *c = kzalloc(sizeof *c);

	if (c) {
		c->refs = 2;
		init_side(&c->side[0]);
		init_side(&c->side[1]);
	}
	return c;
}

static void drop_rights(struct side *s)
{
	while (!list_empty(&s->rights)) {
		struct rights *r = list_first_entry(&s->rights, struct rights, link);

		list_del(&r->link);
		interrupt_window_at(s->rights_count--);
		rights_free(r);
	}
}

/* The data, and what says who sent it: that may be something to each byte. */
static u32 side_pages(const struct side *s)
{
	return ring_pages(&s->ring) + s->rights_count * (u32)sizeof(struct rights) / PAGE_SIZE;
}

u32 stream_pages_held(const struct socket *s)
{
	const struct connection *c = s->connection;
	u32 pages;

	if (!c)
		return 0;
	/* What it has sent is its own until the other end is gone with what that had sent. */
	pages = side_pages(&c->side[!s->end]);
	return c->refs == 1 ? pages + side_pages(&c->side[s->end]) : pages;
}

void stream_each_rights(const struct socket *s, void (*show)(struct rights *, void *), void *argument)
{
	struct rights *r;

	if (!s->connection)
		return;
	list_for_each_entry(r, &s->connection->side[s->end].rights, link)
		show(r, argument);
}

static void wake_end(struct connection *c, unsigned end)
{
	wake_up(&c->side[end].readable);
	wake_up(&c->side[!end].writable);
}

/* Data that the leaving end had not read is lost: the other end is told (ECONNRESET). */
static void connection_leave(struct connection *c, unsigned end)
{
	struct side *mine = &c->side[end], *other = &c->side[!end];

	if (ring_used(&mine->ring))
		other->error = ECONNRESET;
	mine->deaf = true;
	mine->owner = NULL;
	other->ended = true;
	drop_rights(mine);
	ring_free(&mine->ring);
	wake_end(c, !end);
	if (--c->refs)
		return;
	drop_rights(other);
	ring_free(&other->ring);
	kfree(c);
}

void connection_join(struct connection *c, struct socket *first, struct socket *second)
{
	first->connection = second->connection = c;
	c->side[0].owner = first;
	c->side[1].owner = second;
	first->end = 0;
	second->end = 1;
}

void stream_leave(struct socket *s)
{
	if (s->connection)
		connection_leave(s->connection, s->end);
}

long stream_connect(struct socket *s, struct socket *embryo, const struct address *a, bool nonblock,
		    struct socket **listener)
{
	struct connection *c = embryo ? connection_new() : NULL;
	long error = c ? socket_find_listener(s, a, nonblock, listener) : -ENOMEM;

	/* Another thread may have connected it during the wait, or made it a listener. */
	if (!error && (s->connection || s->listening))
		error = -EISCONN;
	if (!error) {
		connection_join(c, s, embryo);
		return 0;
	}
	kfree(c);
	if (embryo)
		socket_release(embryo);
	return error;
}

static long take_error(struct side *s)
{
	long error = s->error;

	s->error = 0;
	return -error;
}

static bool sendable(const struct side *to)
{
	return ring_room(&to->ring) || to->ended || to->deaf;
}

/* Sees to it that the receiver can tell who the next bytes come from: by m->rights, where another sent the last. */
static long sign(const struct socket *s, struct side *to, struct message *m)
{
	m->sender = message_cred(s, to->owner, m);
	if (!m->rights && memcmp(&m->sender, &to->put_by, sizeof m->sender)) {
		m->rights = rights_mark();
		if (!m->rights)
			return -ENOBUFS;
	}
	if (m->rights)
		m->rights->cred = m->sender;
	return 0;
}

/* The last byte put. One that was before is data like any other. */
static void make_urgent(struct side *to)
{
	to->urgent = URGENT;
	to->mark = to->put - 1;
	if (to->owner && to->owner->file)
		async_urgent(to->owner->file);
}

static long put_signed(const struct socket *s, struct side *to, struct message *m, size_t most)
{
	long n = sign(s, to, m);

	if (n)
		return n;
	n = ring_write(&to->ring, m->data, most);
	if (n < 0)
		return n;
	if (m->rights) {
		m->rights->at = to->put;
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

/* Bytes that went into the buffer; 0: another sender has taken the room, or the receiver is gone. */
static long put(const struct socket *s, struct side *to, struct message *m, size_t most)
{
	long n = mutex_lock_killable(&to->putting);

	if (n)
		return n;
	if (ring_room(&to->ring) && !to->ended && !to->deaf)
		n = put_signed(s, to, m, most);
	mutex_unlock(&to->putting);
	return n;
}

long stream_send(struct socket *s, struct message *m)
{
	struct side *from = &s->connection->side[s->end], *to = &s->connection->side[!s->end];
	long done = 0, n;

	for (;;) {
		if (to->ended || to->deaf) {
			if (done)
				return done;
			n = take_error(from);
			return n ? n : socket_broken_pipe(m->flags);
		}
		if (ring_room(&to->ring) && m->data->left) {
			/*
			 * As in a pipe: a reader that waits, or keeps up, gets each page, the last one too, while it is in
			 * the cache.
			 */
			bool keeps_up = waitq_active(&to->readable) || !ring_used(&to->ring);
			bool hand_over = !m->nonblock && m->data->left >= PAGE_SIZE && keeps_up;

			n = put(s, to, m,
				hand_over ? PAGE_SIZE - (to->ring.head & (PAGE_SIZE - 1)) : m->data->left);
			if (n < 0)
				return done ? done : n;
			if (n == 0)
				continue;
			done += n;
			wake_up(&to->readable);
			if (hand_over && !signal_pending()) {
				yield();
				if (m->data->left)
					continue;
			}
			if (ring_room(&to->ring))
				return done;	/* all is sent, or a fault or a signal stopped it */
		}
		if (!m->data->left)
			return done;
		n = SOCKET_WAIT(&to->writable, sendable(to), m->nonblock, s->send_timeout);
		if (n)
			return done ? done : n;
	}
}

static bool at_mark(const struct side *from)
{
	return from->urgent != NO_MARK && from->taken == from->mark;
}

/* How much may be read at once: not beyond the mark, nor beyond the next byte that rights come with. */
static size_t run_length(const struct side *from, size_t wanted)
{
	const struct rights *r;

	if (from->urgent != NO_MARK && from->taken < from->mark)
		wanted = (size_t)MIN((u64)wanted, from->mark - from->taken);
	list_for_each_entry(r, &from->rights, link)
		if (r->at > from->taken)
			return (size_t)MIN((u64)wanted, r->at - from->taken);
	return wanted;
}

/* What comes with the next byte, and who sent it. Looking on leaves it there. */
static struct rights *rights_here(struct side *from, bool peek, struct ucred *sender)
{
	*sender = from->taken_by;
	while (!list_empty(&from->rights)) {
		struct rights *r = list_first_entry(&from->rights, struct rights, link);

		if (r->at > from->taken)
			break;
		*sender = r->cred;
		if (peek)
			break;
		from->taken_by = r->cred;
		list_del(&r->link);
		from->rights_count--;
		if (r->count)
			return r;
		rights_free(r);
	}
	return NULL;
}

/* The next byte is urgent: it is left out, unless it is wanted in line. Looking on leaves it there. */
static bool left_out(const struct socket *s, const struct side *from)
{
	return at_mark(from) && !socket_option(s, SO_OOBINLINE);
}

static void leave_out(struct side *from)
{
	ring_skip(&from->ring, 1);
	from->taken++;
	from->urgent = NO_MARK;
	wake_up(&from->writable);
}

static bool receivable(const struct side *from)
{
	return ring_used(&from->ring) || from->ended || from->deaf || from->error;
}

/* What there is next: bytes that were copied; 0: look again. The mark and rights move with the bytes. */
static long take(const struct socket *s, struct side *from, struct message *m, bool first)
{
	bool peek = m->flags & MSG_PEEK;
	long n;

	if (left_out(s, from) && (!peek || ring_used(&from->ring) == 1)) {
		leave_out(from);
		return 0;
	}
	if (first && !m->rights)
		m->rights = rights_here(from, peek, &m->sender);
	if (peek)
		return ring_peek(&from->ring, m->data, left_out(s, from), run_length(from, m->data->left));
	n = ring_read(&from->ring, m->data, run_length(from, m->data->left));
	if (n <= 0)
		return n;
	from->taken += (u64)n;
	if (from->urgent != NO_MARK && from->taken > from->mark)
		from->urgent = NO_MARK;
	wake_up(&from->writable);
	return n;
}

long stream_receive(struct socket *s, struct message *m)
{
	struct side *from = &s->connection->side[s->end];
	long done = 0, n;

	if (m->address)
		m->address->len = 0;
	while (m->data->left) {
		n = SOCKET_WAIT(&from->readable, receivable(from), m->nonblock || (done && !(m->flags & MSG_WAITALL)),
				s->receive_timeout);
		if (n)
			return done ? done : n;
		if (!ring_used(&from->ring)) {
			n = done ? 0 : take_error(from);
			return done ? done : n;
		}
		if (done && at_mark(from))
			return done;
		n = mutex_lock_killable(&from->taking);
		if (!n) {
			n = ring_used(&from->ring) ? take(s, from, m, !done) : 0;
			mutex_unlock(&from->taking);
		}
		if (n < 0)
			return done ? done : n;
		if (n == 0)
			continue;
		done += n;
		if (m->flags & MSG_PEEK || !list_empty(&from->rights) || m->rights)
			return done;
		if (!(m->flags & MSG_WAITALL))
			return done;
	}
	return done;
}

long stream_receive_urgent(struct socket *s, struct message *m)
{
	struct side *from = s->connection ? &s->connection->side[s->end] : NULL;
	long n;

	if (!from || from->urgent != URGENT || socket_option(s, SO_OOBINLINE))
		return -EINVAL;
	if (m->address)
		m->address->len = 0;
	n = ring_peek(&from->ring, m->data, (size_t)(from->mark - from->taken), MIN(m->data->left, (size_t)1));
	if (n < 0)
		return n;
	m->out_flags |= MSG_OOB;
	if (!(m->flags & MSG_PEEK))
		from->urgent = URGENT_READ;
	return n;
}

bool stream_at_mark(const struct socket *s)
{
	return s->connection && at_mark(&s->connection->side[s->end]);
}

/* Whether a read would find something. An urgent byte alone is told of by POLLPRI, on a Unix socket by both. */
static bool has_data(const struct side *mine)
{
	const struct socket *s = mine->owner;

	if (ring_used(&mine->ring) != 1 || !s || !left_out(s, mine))
		return ring_used(&mine->ring);
	return s->family == AF_UNIX && mine->urgent == URGENT;
}

static unsigned connection_poll(struct connection *c, unsigned end, struct poll_table *table)
{
	struct side *mine = &c->side[end], *other = &c->side[!end];
	unsigned ready = 0;

	poll_wait(table, &mine->readable);
	poll_wait(table, &other->writable);
	if (has_data(mine) || mine->ended || mine->deaf)
		ready |= POLLIN | POLLRDNORM;
	if (mine->urgent == URGENT)
		ready |= POLLPRI;
	if (mine->ended)
		ready |= POLLRDHUP;
	if (mine->ended && (other->ended || other->deaf))
		ready |= POLLHUP;
	if (mine->error)
		ready |= POLLERR;
	if (ring_room(&other->ring) >= ROOM_TO_POLL || other->deaf || other->ended)
		ready |= POLLOUT | POLLWRNORM;
	return ready;
}

unsigned stream_poll(struct socket *s, struct poll_table *table)
{
	if (s->connection)
		return connection_poll(s->connection, s->end, table);
	poll_wait(table, &s->accepting);
	if (s->listening)
		return s->pending_count ? POLLIN | POLLRDNORM : 0;
	return POLLOUT | POLLWRNORM | POLLHUP;
}

long stream_shutdown(struct socket *s, unsigned how)
{
	struct connection *c = s->connection;

	if (!c)
		return -ENOTCONN;
	if (how & SHUT_RD)
		c->side[s->end].deaf = true;
	if (how & SHUT_WR)
		c->side[!s->end].ended = true;
	wake_end(c, 0);
	wake_end(c, 1);
	return 0;
}

u32 stream_bytes(struct socket *s)
{
	const struct side *mine = s->connection ? &s->connection->side[s->end] : NULL;

	if (mine && s->family == AF_INET && mine->urgent != NO_MARK && !socket_option(s, SO_OOBINLINE))
		return (u32)(mine->mark - mine->taken);
	return mine ? ring_used(&mine->ring) : 0;
}
