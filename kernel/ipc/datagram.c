/* Queues of datagrams. */
#include "datagram.h"

#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <signal.h>

#define COUNT_MAX 128u	/* datagrams that wait at a receiver */

struct datagram {
	struct list_head link;
	struct address from;
	struct rights *rights;
	struct ucred sender;
	u32 size;
	u32 users;	/* the queue or who took it, and copies by those who only look */
	u8 data[];
};

void datagram_init(struct datagram_queue *q)
{
	list_init(&q->datagrams);
	waitq_init(&q->readable);
	waitq_init(&q->writable);
}

static void unlink(struct datagram_queue *q, struct datagram *d)
{
	list_del(&d->link);
	q->count--;
	q->bytes -= d->size;
}

static void let_go(struct datagram *d)
{
	if (--d->users)
		return;
	if (d->rights)
		rights_free(d->rights);
	kfree(d);
}

void datagram_free(struct datagram_queue *q)
{
	waitq_detach(&q->readable);
	waitq_detach(&q->writable);
	while (!list_empty(&q->datagrams)) {
		struct datagram *d = list_first_entry(&q->datagrams, struct datagram, link);

		unlink(q, d);
		let_go(d);
	}
}

u32 datagram_pages_held(const struct datagram_queue *q)
{
	return (q->bytes + q->count * (u32)sizeof(struct datagram) + PAGE_SIZE - 1) / PAGE_SIZE;
}

void datagram_each_rights(const struct datagram_queue *q, void (*show)(struct rights *, void *), void *argument)
{
	struct datagram *d;

	list_for_each_entry(d, &q->datagrams, link)
		if (d->rights)
			show(d->rights, argument);
}

bool datagram_room(const struct datagram_queue *q)
{
	return q->count < COUNT_MAX && q->bytes < SOCKET_BUFFER;
}

struct datagram *datagram_new(const struct message *m, const struct address *from)
{
	size_t size = m->data->left;
	struct datagram *d;

	if (size > DATAGRAM_MAX)
		return ERR_PTR(-EMSGSIZE);
	d = kmalloc(sizeof *d + size);
	if (!d)
		return ERR_PTR(-ENOBUFS);
	if (iter_read(m->data, d->data, size) != (long)size) {
		kfree(d);
		return ERR_PTR(-EFAULT);
	}
	d->from.len = 0;
	if (from)
		d->from = *from;
	d->size = (u32)size;
	d->users = 1;
	d->rights = NULL;
	return d;
}

u32 datagram_size(const struct datagram *d)
{
	return d->size;
}

void datagram_discard(struct datagram *d)
{
	kfree(d);
}

void datagram_append(struct datagram_queue *q, struct datagram *d, struct message *m)
{
	d->sender = m->sender;
	d->rights = m->rights;
	m->rights = NULL;
	list_add_tail(&d->link, &q->datagrams);
	q->count++;
	q->bytes += d->size;
	wake_up(&q->readable);
}

static void put_back(struct datagram_queue *q, struct datagram *d)
{
	list_add(&d->link, &q->datagrams);
	q->count++;
	q->bytes += d->size;
	wake_up(&q->readable);
}

long datagram_take(struct socket *s, struct datagram_queue *q, struct message *m)
{
	bool peek = m->flags & MSG_PEEK;
	struct datagram *d;
	long n = SOCKET_WAIT(&q->readable, q->count || s->error || s->shut & SHUT_RD, m->nonblock, s->receive_timeout);

	if (n)
		return n;
	n = socket_error(s);
	if (n)
		return n;
	if (!q->count)
		return 0;
	d = list_first_entry(&q->datagrams, struct datagram, link);
	/* The copy may sleep: nobody else takes this one meanwhile, or frees one that is only looked at. */
	if (peek)
		d->users++;
	else
		unlink(q, d);
	n = iter_write(m->data, d->data, d->size);
	if (n < 0) {
		if (peek)
			let_go(d);
		else
			put_back(q, d);
		return n;
	}
	if ((u32)n < d->size) {
		m->out_flags |= MSG_TRUNC;
		if (m->flags & MSG_TRUNC)
			n = (long)d->size;
	}
	if (m->address)
		*m->address = d->from;
	m->sender = d->sender;
	if (!peek) {
		m->rights = d->rights;
		d->rights = NULL;
		wake_up(&q->writable);
	}
	let_go(d);
	return n;
}

unsigned datagram_poll(struct socket *s, struct datagram_queue *q, struct poll_table *table)
{
	unsigned ready = 0;

	poll_wait(table, &q->readable);
	if (q->count || s->shut & SHUT_RD)
		ready |= POLLIN | POLLRDNORM;
	if (s->error)
		ready |= POLLERR;
	return ready;
}

u32 datagram_next_size(const struct datagram_queue *q)
{
	return q->count ? list_first_entry(&q->datagrams, struct datagram, link)->size : 0;
}
