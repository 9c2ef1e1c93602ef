/*
 * Bytes that a TCP sender holds back (TCP_CORK, MSG_MORE). On a network they wait until they fill a segment, until the
 * sender asks for no more, or for 200 ms. Here they are in the receiver's ring, and the receiver does not see them yet.
 */
#include "inet.h"

#include <err.h>
#include <kmalloc.h>
#include <lib.h>

#define HOLD_NS (200 * NSEC_PER_MSEC)

static void hold_ends(struct timer *timer)
{
	struct hold *hold = container_of(timer, struct hold, timer);

	hold->on = false;
	wake_up_noted(&hold->note);
}

long tcp_hold(struct side *side)
{
	struct hold *hold = side->hold;

	if (!hold) {
		hold = kzalloc(sizeof(*hold));
		if (!hold)
			return -ENOBUFS;
		timer_init(&hold->timer, hold_ends);
		wake_note_init(&hold->note, &side->readable);
		side->hold = hold;
	}
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
	if (!side->hold || !side->hold->on)
		return;
	side->hold->on = false;
	timer_cancel(&side->hold->timer);
}

void tcp_hold_free(struct side *side)
{
	if (!side->hold)
		return;
	timer_cancel(&side->hold->timer);
	wake_note_drop(&side->hold->note);
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
