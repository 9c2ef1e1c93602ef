/* Unix sockets: stream, datagram and sequenced packets, by path, by abstract name, or in pairs (unix(7)). This file has
 * what all types share, and streams. */
#include "stream.h"
#include "unix.h"

#include <abi/socket.h>
#include <err.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>

static const struct socket_ops unix_stream_ops;

struct socket *unix_new(u16 type)
{
	const struct socket_ops *ops = type == SOCK_STREAM ? &unix_stream_ops :
				       type == SOCK_DGRAM  ? &unix_datagram_ops : &unix_packet_ops;
	struct unix_socket *u = kzalloc(sizeof *u);
	struct socket *s = u ? socket_new(AF_UNIX, type, 0, ops) : NULL;

	if (!s) {
		kfree(u);
		return NULL;
	}
	u->socket = s;
	u->name.family = AF_UNIX;
	u->name.len = PATH_OFFSET;
	u->peer_name = u->name;
	list_init(&u->link);
	list_init(&u->senders);
	list_init(&u->sender_link);
	datagram_init(&u->queue);
	s->data = u;
	return s;
}

static int check_type(int type)
{
	return type == SOCK_STREAM || type == SOCK_DGRAM || type == SOCK_SEQPACKET ? 0 : -ESOCKTNOSUPPORT;
}

long unix_create(int type, int protocol, struct socket **out)
{
	int error = check_type(type);

	if (error)
		return error;
	if (protocol && protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	*out = unix_new((u16)type);
	return *out ? 0 : -ENOMEM;
}

long unix_pair(int type, struct socket *pair[2])
{
	struct connection *c = NULL;
	int error = check_type(type);

	if (error)
		return error;
	pair[0] = unix_new((u16)type);
	pair[1] = unix_new((u16)type);
	if (type == SOCK_STREAM)
		c = connection_new();
	if (!pair[0] || !pair[1] || (type == SOCK_STREAM && !c)) {
		kfree(c);
		for (int i = 0; i < 2; i++)
			if (pair[i])
				socket_release(pair[i]);
		return -ENOMEM;
	}
	pair[0]->peer = pair[1]->peer = current_ucred();
	if (c)
		connection_join(c, pair[0], pair[1]);
	else
		unix_connect_both(unix_of(pair[0]), unix_of(pair[1]));
	return 0;
}

long unix_listen(struct socket *s, u32 backlog)
{
	struct unix_socket *u = unix_of(s);

	if (s->connection || u->peer || u->name.len == PATH_OFFSET)
		return -EINVAL;
	s->peer = current_ucred();
	return socket_listen(s, backlog);
}

long unix_find_listener(const struct address *a, u16 type, struct socket **out)
{
	struct unix_socket *server;
	int error = unix_find(a, type, &server);

	if (!error && !server->socket->listening)
		error = -ECONNREFUSED;
	if (!error)
		*out = server->socket;
	return error;
}

static long stream_listener(const struct address *a, struct socket **out)
{
	return unix_find_listener(a, SOCK_STREAM, out);
}

void unix_introduce(struct socket *s, struct socket *embryo, struct socket *listener)
{
	struct unix_socket *u = unix_of(s), *other = unix_of(embryo), *server = unix_of(listener);

	other->name = server->name;
	other->peer_name = u->name;
	u->peer_name = server->name;
	embryo->peer = current_ucred();
	s->peer = listener->peer;
	socket_enqueue(listener, embryo);
}

static long unix_stream_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct socket *embryo, *listener;
	long error;

	error = unix_name_for_credentials(s);
	if (error)
		return error;
	if (s->listening)
		return -EINVAL;
	if (s->connection)
		return -EISCONN;
	embryo = unix_new(SOCK_STREAM);
	error = stream_connect(s, embryo, a, nonblock, &listener);
	if (!error)
		unix_introduce(s, embryo, listener);
	return error;
}

static long unix_stream_send(struct socket *s, struct message *m)
{
	if (m->address && m->address->len)
		return s->connection ? -EISCONN : -EOPNOTSUPP;
	return s->connection ? stream_send(s, m) : -ENOTCONN;
}

static long unix_stream_receive(struct socket *s, struct message *m)
{
	return s->connection ? stream_receive(s, m) : -EINVAL;
}

void unix_release(struct socket *s)
{
	struct unix_socket *u = unix_of(s), *sender, *next;

	list_del(&u->link);
	if (u->inode) {
		u->inode->data = NULL;
		inode_put(u->inode);
	}
	stream_leave(s);
	unix_connect(u, NULL);
	list_for_each_entry_safe(sender, next, &u->senders, sender_link) {
		unix_connect(sender, NULL);
		if (s->type == SOCK_SEQPACKET) {
			sender->socket->shut |= SHUT_RD | SHUT_WR;
			/* What was sent here and not read is lost. */
			sender->socket->error = u->queue.count ? ECONNRESET : 0;
		} else {
			sender->peer_gone = true;
		}
		wake_up(&sender->queue.readable);	/* the next call tells */
	}
	datagram_free(&u->queue);
	kfree(u);
	rights_collect();	/* what it was the last to refer to from outside */
}

static void each_own_rights(const struct socket *s, void (*show)(struct rights *, void *), void *argument)
{
	stream_each_rights(s, show, argument);
	datagram_each_rights(&unix_of(s)->queue, show, argument);
}

void unix_each_rights(struct socket *s, void (*show)(struct rights *, void *), void *argument)
{
	struct socket *embryo;

	each_own_rights(s, show, argument);
	list_for_each_entry(embryo, &s->pending, pending_link)
		each_own_rights(embryo, show, argument);
}

static u32 own_pages(const struct socket *s)
{
	return stream_pages_held(s) + datagram_pages_held(&unix_of(s)->queue);
}

u32 unix_pages_held(const struct socket *s)
{
	const struct socket *embryo;
	u32 pages = own_pages(s);

	list_for_each_entry(embryo, &s->pending, pending_link)
		pages += own_pages(embryo);
	return pages;
}

static const struct socket_ops unix_stream_ops = {
	.bind = unix_bind, .connect = unix_stream_connect, .listen = unix_listen, .find_listener = stream_listener,
	.accept = socket_accept, .name = unix_name, .send = unix_stream_send, .receive = unix_stream_receive,
	.poll = stream_poll, .shutdown = stream_shutdown, .readable_bytes = stream_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};
