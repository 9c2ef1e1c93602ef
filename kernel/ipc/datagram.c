/* Queues of datagrams. */
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <window.h>

#include "datagram.h"

#define COUNT_MAX 128u  /* datagrams in a receiver's queue */

struct datagram {
	struct list_head link;
	struct address from;
	struct rights *rights;
	struct ucred sender;
	u32 size;
	u32 users;      /* references: the queue or the reader, and copies in progress */
	u8 data[];
};

void datagram_init(struct datagram_queue *queue)
{
	list_init(&queue->datagrams);
	queue->limit = SOCKET_BUFFER;
	waitq_init(&queue->readable);
	waitq_init(&queue->writable);
}

static void datagram_unlink(struct datagram_queue *queue, struct datagram *datagram)
{
	list_del(&datagram->link);
	queue->count--;
	queue->bytes -= datagram->size;
}

static void let_go(struct datagram *datagram)
{
	if (--datagram->users)
		return;
	if (datagram->rights)
		rights_free(datagram->rights);
	kfree(datagram);
}

void datagram_drop_all(struct datagram_queue *queue)
{
	struct datagram *datagram;

	list_until_empty_window(datagram, &queue->datagrams, link) {
		datagram_unlink(queue, datagram);
		let_go(datagram);
	}
}

void datagram_free(struct datagram_queue *queue)
{
	waitq_detach(&queue->readable);
	waitq_detach(&queue->writable);
	datagram_drop_all(queue);
}

u32 datagram_pages_held(const struct datagram_queue *queue)
{
	return (queue->bytes + queue->count * (u32)sizeof(struct datagram) + PAGE_SIZE - 1) / PAGE_SIZE;
}

void datagram_each_rights(const struct datagram_queue *queue, void (*show)(struct rights *, void *), void *argument)
{
	struct datagram *datagram;

	list_for_each_entry(datagram, &queue->datagrams, link)
		if (datagram->rights)
			show(datagram->rights, argument);
}

bool datagram_room(const struct datagram_queue *queue)
{
	return queue->count < COUNT_MAX && queue->bytes < queue->limit;
}

/* `before`: bytes that the caller puts at the data's start. */
static struct datagram *read_datagram(u32 before, const struct message *message, const struct address *from)
{
	size_t size = message->data->left;
	struct datagram *datagram;

	if (size > DATAGRAM_MAX - before)
		return ERR_PTR(-EMSGSIZE);
	datagram = kmalloc(sizeof(*datagram) + before + size);
	if (!datagram)
		return ERR_PTR(-ENOBUFS);
	if (iter_read(message->data, datagram->data + before, size) != (long)size) {
		kfree(datagram);
		return ERR_PTR(-EFAULT);
	}
	datagram->from.len = 0;
	if (from)
		datagram->from = *from;
	datagram->size = before + (u32)size;
	datagram->users = 1;
	datagram->rights = NULL;
	return datagram;
}

struct datagram *datagram_new(const struct message *message, const struct address *from)
{
	return read_datagram(0, message, from);
}

struct datagram *datagram_extend(struct datagram *old, const struct message *message, const struct address *from)
{
	struct datagram *datagram = read_datagram(old ? old->size : 0, message, from);

	if (old && !IS_ERR(datagram))
		memcpy(datagram->data, old->data, old->size);
	kfree(old);
	return datagram;
}

u32 datagram_size(const struct datagram *datagram)
{
	return datagram->size;
}

void datagram_set_address(struct datagram *datagram, const struct address *from)
{
	datagram->from = *from;
}

void datagram_discard(struct datagram *datagram)
{
	kfree(datagram);
}

void datagram_append(struct datagram_queue *queue, struct datagram *datagram, struct message *message)
{
	datagram->sender = message->sender;
	datagram->rights = message->rights;
	message->rights = NULL;
	list_add_tail(&datagram->link, &queue->datagrams);
	queue->count++;
	queue->bytes += datagram->size;
	wake_up(&queue->readable);
}

long datagram_take_now(struct datagram_queue *queue, struct message *message)
{
	bool peek = message->flags & MSG_PEEK;
	struct datagram *datagram;
	size_t wanted;
	long n;

	if (!queue->count)
		return -EAGAIN;
	datagram = list_first_entry(&queue->datagrams, struct datagram, link);
	/* The copy may sleep: hold the datagram, and remove it first unless it is only peeked at. */
	if (peek) {
		datagram->users++;
		message->rights = datagram->rights ? rights_peek(datagram->rights) : NULL;
	} else {
		datagram_unlink(queue, datagram);
		if (datagram->rights)
			rights_taken(datagram->rights);
	}
	wanted = MIN((size_t)datagram->size, message->data->left);
	n = iter_write(message->data, datagram->data, wanted);
	/* Memory that the program may not use, or not all of it: the datagram is lost, as on Linux. */
	if (n < (long)wanted) {
		let_go(datagram);
		if (!peek)
			wake_up(&queue->writable);
		return -EFAULT;
	}
	if ((u32)n < datagram->size) {
		message->out_flags |= MSG_TRUNC;
		if (message->flags & MSG_TRUNC)
			n = (long)datagram->size;
	}
	if (message->address)
		*message->address = datagram->from;
	message->sender = datagram->sender;
	if (!peek) {
		message->rights = datagram->rights;
		datagram->rights = NULL;
		wake_up(&queue->writable);
	}
	let_go(datagram);
	return n;
}

long datagram_take(struct socket *socket, struct datagram_queue *queue, struct message *message)
{
	u64 deadline = socket_deadline(socket->settings.receive_timeout);
	/* Only packets report their end to a call that does not wait, as on Linux. */
	u32 ends = message->nonblock && socket->type == SOCK_DGRAM ? 0 : SHUT_RD;
	long n = SOCKET_WAIT(&queue->readable, queue->count || socket->error || socket->shut & ends, message->nonblock,
			     deadline);

	if (n)
		return n;
	n = socket_error(socket);
	if (n)
		return n;
	return queue->count ? datagram_take_now(queue, message) : 0;
}

unsigned datagram_poll(struct socket *socket, struct datagram_queue *queue, struct poll_table *table)
{
	unsigned ready = 0;

	poll_wait(table, &queue->readable);
	if (queue->count)
		ready |= POLLIN | POLLRDNORM;
	if (socket->shut & SHUT_RD)
		ready |= POLLIN | POLLRDNORM | POLLRDHUP;
	if (socket->shut == (SHUT_RD | SHUT_WR))
		ready |= POLLHUP;
	if (socket->error)
		ready |= POLLERR;
	return ready;
}

u32 datagram_next_size(const struct datagram_queue *queue)
{
	return queue->count ? list_first_entry(&queue->datagrams, struct datagram, link)->size : 0;
}
