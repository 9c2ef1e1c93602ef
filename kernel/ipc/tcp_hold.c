/*
 * Bytes that a TCP sender holds back (TCP_CORK, MSG_MORE). On a network they wait until they fill a segment, until the
 * sender asks for no more, or for 200 ms. Here they are in the receiver's ring, and the receiver does not see them yet.
 * And the limit of a sender whose receiver does not read (TCP_USER_TIMEOUT).
 */
#include <err.h>
#include <kmalloc.h>

#include "inet.h"

#define HOLD_NS (200 * NSEC_PER_MSEC)

static void hold_ends(struct timer *timer)
{
	struct hold *hold = container_of(timer, struct hold, timer);

	hold->on = false;
	wake_up_noted(&hold->note);
}

static void stall_ends(struct deferred *work)
{
	struct hold *hold = container_of(work, struct hold, stalled);
	struct connection *connection = hold->connection;
	struct socket *sender = connection->side[hold->sender].owner;

	if (!sender || !stream_unsent(sender))
		return;
	if (connection->side[far_end(connection, hold->sender)].taken != hold->taken) {
		tcp_watch(sender);
		return;
	}
	stream_reset(connection, hold->sender);
	sender->error = ETIMEDOUT;
}

static void stall_expires(struct timer *timer)
{
	note_work(&container_of(timer, struct hold, stall)->stalled, stall_ends);
}

/* NULL: no memory. */
static struct hold *hold_of(struct side *side)
{
	struct hold *hold = side->hold ? side->hold : kzalloc(sizeof(*hold));

	if (!hold || hold == side->hold)
		return hold;
	timer_init(&hold->timer, hold_ends);
	wake_note_init(&hold->note, &side->readable);
	timer_init(&hold->stall, stall_expires);
	list_init(&hold->stalled.link);
	return side->hold = hold;
}

void tcp_watch(const struct socket *sender)
{
	u64 limit = (u64)inet_option(inet_of(sender), USER_TIMEOUT) * NSEC_PER_MSEC;
	struct connection *connection = sender->connection;
	struct hold *hold;
	struct side *side;

	if (!limit || !connection)
		return;
	side = &connection->side[far_end(connection, sender->end)];
	hold = hold_of(side);
	if (!hold || hold->stall.active || !list_empty(&hold->stalled.link))
		return;
	hold->taken = side->taken;
	hold->connection = connection;
	hold->sender = sender->end;
	timer_set(&hold->stall, time_deadline(limit));
}

long tcp_hold(struct side *side)
{
	struct hold *hold = hold_of(side);

	if (!hold)
		return -ENOBUFS;
	if (hold->on && hold->from != side->put)
		return 0;
	hold->on = true;
	hold->from = side->put;
	timer_set(&hold->timer, time_deadline(HOLD_NS));
	return 0;
}

bool tcp_hold_part(struct side *side, const struct socket *sender)
{
	struct hold *hold = side->hold;
	u32 segment = tcp_segment_size(sender), held;

	if (!hold->on)
		return true;
	held = (u32)(side->put - hold->from);
	if (held < segment)
		return false;
	hold->from += held - held % segment;
	timer_set(&hold->timer, time_deadline(HOLD_NS));
	return true;
}

void tcp_show(struct side *side)
{
	if (!side->hold || !side->hold->on || side->hold->lost)
		return;
	side->hold->on = false;
	timer_cancel(&side->hold->timer);
}

void tcp_drop_held(struct side *side)
{
	if (!side->hold || !side->hold->on)
		return;
	side->hold->lost = true;
	timer_cancel(&side->hold->timer);
}

void tcp_hold_answered(struct side *side, const struct socket *sender)
{
	if (!side->hold || !side->hold->on || (sender && sender->corked))
		return;
	tcp_show(side);
	wake_up(&side->readable);
}

void tcp_hold_free(struct side *side)
{
	if (!side->hold)
		return;
	timer_cancel(&side->hold->timer);
	wake_note_drop(&side->hold->note);
	timer_cancel(&side->hold->stall);
	list_del(&side->hold->stalled.link);
	kfree(side->hold);
	side->hold = NULL;
}

void tcp_push(struct socket *socket)
{
	struct connection *connection = socket->connection;
	struct side *to;

	if (!connection)
		return;
	to = &connection->side[far_end(connection, socket->end)];
	tcp_show(to);
	wake_up(&to->readable);
}
