/*
 * Unix sockets: stream, datagram and sequenced packets, by path, by abstract name, or in pairs (unix(7)). A
 * connection of packets is two queues of datagrams, each the other's peer.
 */
#include "datagram.h"
#include "stream.h"

#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>
#include <signal.h>
#include <task.h>

#define PATH_OFFSET 2u		/* of sun_path in struct sockaddr_un */

struct unix_socket {
	struct list_head link;		/* bound sockets */
	struct socket *socket;
	struct address name;
	struct inode *inode;		/* that a path names; referenced */
	struct address peer_name;	/* stream and packets, connected */
	struct datagram_queue queue;	/* datagram and packets */
	struct unix_socket *peer;	/* datagram and packets, connected */
	bool peer_gone;			/* it was closed: the next datagram to it tells */
	struct list_head senders;	/* sockets whose peer is this one, by sender_link */
	struct list_head sender_link;
};

static struct list_head bound = LIST_HEAD_INIT(bound);

static const struct socket_ops stream_ops, datagram_ops, packet_ops;

static struct unix_socket *unix_of(const struct socket *s)
{
	return s->data;
}

static struct socket *new_unix(u16 type)
{
	const struct socket_ops *ops = type == SOCK_STREAM ? &stream_ops :
				       type == SOCK_DGRAM  ? &datagram_ops : &packet_ops;
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
	*out = new_unix((u16)type);
	return *out ? 0 : -ENOMEM;
}

static void connect_datagram(struct unix_socket *u, struct unix_socket *to)
{
	list_del(&u->sender_link);
	u->peer = to;
	u->peer_gone = false;
	if (to)
		list_add(&u->sender_link, &to->senders);
}

static void connect_both(struct unix_socket *a, struct unix_socket *b)
{
	connect_datagram(a, b);
	connect_datagram(b, a);
}

long unix_pair(int type, struct socket *pair[2])
{
	struct connection *c = NULL;
	int error = check_type(type);

	if (error)
		return error;
	pair[0] = new_unix((u16)type);
	pair[1] = new_unix((u16)type);
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
		connect_both(unix_of(pair[0]), unix_of(pair[1]));
	return 0;
}

static bool is_abstract(const struct address *a)
{
	return a->bytes[PATH_OFFSET] == 0;
}

static int check_address(const struct address *a)
{
	if (a->len < PATH_OFFSET || a->family != AF_UNIX || a->len > PATH_OFFSET + UNIX_PATH_MAX)
		return -EINVAL;
	return 0;
}

/* The path, NUL-terminated. */
static void path_of(const struct address *a, char path[UNIX_PATH_MAX + 1])
{
	size_t len = a->len - PATH_OFFSET;

	memcpy(path, a->bytes + PATH_OFFSET, len);
	path[len] = 0;
}

static struct unix_socket *find_abstract(const struct address *a, u16 type)
{
	struct unix_socket *u;

	list_for_each_entry(u, &bound, link)
		if (!u->inode && u->socket->type == type && u->name.len == a->len &&
		    !memcmp(u->name.bytes, a->bytes, a->len))
			return u;
	return NULL;
}

static int find_path(const struct address *a, u16 type, struct unix_socket **out)
{
	char path[UNIX_PATH_MAX + 1];
	struct dentry *d;
	int error;

	path_of(a, path);
	error = path_lookup(AT_FDCWD, path, WALK_FOLLOW, &d);
	if (error)
		return error;
	error = inode_permission(d->inode, MAY_WRITE);
	if (!error && (!S_ISSOCK(d->inode->mode) || !d->inode->data))
		error = -ECONNREFUSED;
	if (!error) {
		*out = d->inode->data;
		if ((*out)->socket->type != type)
			error = -EPROTOTYPE;
	}
	dentry_put(d);
	return error;
}

static int find_peer(const struct address *a, u16 type, struct unix_socket **out)
{
	int error = check_address(a);

	if (error)
		return error;
	if (a->len == PATH_OFFSET)
		return -EINVAL;
	if (!is_abstract(a))
		return find_path(a, type, out);
	*out = find_abstract(a, type);
	return *out ? 0 : -ECONNREFUSED;
}

static long bind_path(struct unix_socket *u, const struct address *a)
{
	char path[UNIX_PATH_MAX + 1];
	struct walk w;
	struct dentry *d;
	int error;

	path_of(a, path);
	error = walk_parent(&w, AT_FDCWD, path);
	if (!error) {
		d = walk_last(&w);
		if (!IS_ERR(d)) {
			dentry_put(d);
			error = -EADDRINUSE;
		} else if (PTR_ERR(d) != -ENOENT || w.slash) {
			error = (int)PTR_ERR(d);
		} else {
			error = inode_make(w.dir, w.last, w.len, S_IFSOCK | (0777 & ~current->fs->umask), 0, &d);
			if (!error) {
				d->inode->data = u;
				u->inode = inode_get(d->inode);
				dentry_put(d);
			}
		}
	}
	walk_done(&w);
	return error;
}

/* An abstract name of the kernel's choice: NUL and five hexadecimal digits. */
static long bind_any(struct unix_socket *u)
{
	static u32 next;
	struct address a = { .len = PATH_OFFSET + 6 };

	a.family = AF_UNIX;
	for (u32 tries = 0; tries < 0x100000; tries++) {
		char digits[6];

		snprintf(digits, sizeof digits, "%05x", next++ & 0xfffff);
		a.bytes[PATH_OFFSET] = 0;
		memcpy(a.bytes + PATH_OFFSET + 1, digits, 5);
		if (find_abstract(&a, u->socket->type))
			continue;
		u->name = a;
		list_add(&u->link, &bound);
		return 0;
	}
	return -ENOSPC;
}

/* Who shall be known to receivers has a name. */
static long name_for_credentials(struct socket *s)
{
	struct unix_socket *u = unix_of(s);

	return socket_option(s, SO_PASSCRED) && u->name.len == PATH_OFFSET ? bind_any(u) : 0;
}

static long unix_bind(struct socket *s, const struct address *a)
{
	struct unix_socket *u = unix_of(s);
	long error = check_address(a);

	if (error)
		return error;
	if (u->name.len > PATH_OFFSET)
		return -EINVAL;
	if (a->len == PATH_OFFSET)
		return bind_any(u);
	if (is_abstract(a)) {
		if (find_abstract(a, s->type))
			return -EADDRINUSE;
		u->name = *a;
	} else {
		char path[UNIX_PATH_MAX + 1];

		error = bind_path(u, a);
		if (error)
			return error;
		path_of(a, path);
		u->name = *a;
		u->name.len = PATH_OFFSET + (u32)strlen(path) + 1;	/* with its NUL, as Linux reports it */
	}
	list_add(&u->link, &bound);
	return 0;
}

static long unix_name(struct socket *s, struct address *a, bool peer)
{
	struct unix_socket *u = unix_of(s);

	if (!peer) {
		*a = u->name;
		return 0;
	}
	if (!s->connection && !u->peer)
		return -ENOTCONN;
	*a = s->type == SOCK_DGRAM ? u->peer->name : u->peer_name;
	return 0;
}

static long unix_listen(struct socket *s, u32 backlog)
{
	struct unix_socket *u = unix_of(s);

	if (s->connection || u->peer || u->name.len == PATH_OFFSET)
		return -EINVAL;
	s->peer = current_ucred();
	return socket_listen(s, backlog);
}

static long find_listener(const struct address *a, u16 type, struct socket **out)
{
	struct unix_socket *server;
	int error = find_peer(a, type, &server);

	if (!error && !server->socket->listening)
		error = -ECONNREFUSED;
	if (!error)
		*out = server->socket;
	return error;
}

static long stream_listener(const struct address *a, struct socket **out)
{
	return find_listener(a, SOCK_STREAM, out);
}

/* Both ends learn who the other is; the listener gets its end. */
static void introduce(struct socket *s, struct socket *embryo, struct socket *listener)
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

	if (s->listening)
		return -EINVAL;
	if (s->connection)
		return -EISCONN;
	error = name_for_credentials(s);
	if (error)
		return error;
	embryo = new_unix(SOCK_STREAM);
	error = stream_connect(s, embryo, a, nonblock, &listener);
	if (!error)
		introduce(s, embryo, listener);
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

static void unix_release(struct socket *s)
{
	struct unix_socket *u = unix_of(s), *sender, *next;

	list_del(&u->link);
	if (u->inode) {
		u->inode->data = NULL;
		inode_put(u->inode);
	}
	stream_leave(s);
	connect_datagram(u, NULL);
	list_for_each_entry_safe(sender, next, &u->senders, sender_link) {
		connect_datagram(sender, NULL);
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

static u32 unix_pages_held(const struct socket *s)
{
	const struct socket *embryo;
	u32 pages = own_pages(s);

	list_for_each_entry(embryo, &s->pending, pending_link)
		pages += own_pages(embryo);
	return pages;
}

static const struct socket_ops stream_ops = {
	.bind = unix_bind, .connect = unix_stream_connect, .listen = unix_listen, .find_listener = stream_listener,
	.accept = socket_accept, .name = unix_name, .send = unix_stream_send, .receive = unix_stream_receive,
	.poll = stream_poll, .shutdown = stream_shutdown, .readable_bytes = stream_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};

static long datagram_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct unix_socket *u = unix_of(s), *to = NULL;
	long error;

	(void)nonblock;
	if (a->len >= PATH_OFFSET && a->family == AF_UNSPEC) {
		connect_datagram(u, NULL);
		return 0;
	}
	error = name_for_credentials(s);
	if (!error)
		error = find_peer(a, SOCK_DGRAM, &to);
	if (!error && to->peer && to->peer != u)
		error = -EPERM;		/* it talks with somebody else only */
	if (!error)
		connect_datagram(u, to);
	return error;
}

static int destination(struct unix_socket *u, const struct message *m, struct unix_socket **to)
{
	if (m->address && m->address->len)
		return find_peer(m->address, SOCK_DGRAM, to);
	if (u->peer_gone) {
		u->peer_gone = false;
		return -ECONNREFUSED;
	}
	if (!u->peer)
		return -ENOTCONN;
	*to = u->peer;
	return 0;
}

/* Room in the receiver's queue: 0; 1 after a sleep, when the receiver may be gone; -EAGAIN, -ERESTARTSYS. */
static long wait_for_room(struct socket *s, struct unix_socket *to, bool nonblock)
{
	struct waiter w;
	long error;

	if (datagram_room(&to->queue))
		return 0;
	if (nonblock)
		return -EAGAIN;
	waiter_init(&w);
	w.woken = false;
	waitq_add(&to->queue.writable, &w);
	error = sleep_interruptible(&w.woken, s->send_timeout ? time_deadline(s->send_timeout) : TIME_NEVER);
	waitq_remove(&w);
	if (error)
		return error == -ETIMEDOUT ? -EAGAIN : error;
	return 1;
}

static long unix_datagram_send(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s), *to;
	long error = name_for_credentials(s);

	if (error)
		return error;
	do {
		error = destination(u, m, &to);
		if (error)
			return error;
		if (to->peer && to->peer != u)
			return -EPERM;
		if (s->shut & SHUT_WR || to->socket->shut & SHUT_RD)
			return socket_broken_pipe(m->flags);
		error = wait_for_room(s, to, m->nonblock);
	} while (error == 1);
	if (error)
		return error;
	m->sender = message_cred(s, to->socket, m);
	return datagram_put(&to->queue, m, &u->name);
}

static long unix_datagram_receive(struct socket *s, struct message *m)
{
	return datagram_take(s, &unix_of(s)->queue, m);
}

static unsigned unix_datagram_poll(struct socket *s, struct poll_table *table)
{
	struct unix_socket *u = unix_of(s);
	unsigned ready = datagram_poll(s, &u->queue, table);

	if (u->peer)
		poll_wait(table, &u->peer->queue.writable);
	if (!u->peer || datagram_room(&u->peer->queue))
		ready |= POLLOUT | POLLWRNORM;
	return ready;
}

static long unix_datagram_shutdown(struct socket *s, unsigned how)
{
	struct unix_socket *u = unix_of(s);

	if (!u->peer)
		return -ENOTCONN;
	s->shut |= how;
	wake_up(&u->queue.readable);
	wake_up(&u->queue.writable);
	return 0;
}

static u32 unix_datagram_bytes(struct socket *s)
{
	return datagram_next_size(&unix_of(s)->queue);
}

static const struct socket_ops datagram_ops = {
	.bind = unix_bind, .connect = datagram_connect, .name = unix_name, .send = unix_datagram_send,
	.receive = unix_datagram_receive, .poll = unix_datagram_poll, .shutdown = unix_datagram_shutdown,
	.readable_bytes = unix_datagram_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};

static long packet_listener(const struct address *a, struct socket **out)
{
	return find_listener(a, SOCK_SEQPACKET, out);
}

static long packet_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct socket *embryo, *listener;
	long error;

	if (s->listening)
		return -EINVAL;
	if (unix_of(s)->peer)
		return -EISCONN;
	error = name_for_credentials(s);
	if (error)
		return error;
	embryo = new_unix(SOCK_SEQPACKET);
	if (!embryo)
		return -ENOMEM;
	error = socket_find_listener(s, a, nonblock, &listener);
	if (error) {
		socket_release(embryo);
		return error;
	}
	connect_both(unix_of(s), unix_of(embryo));
	introduce(s, embryo, listener);
	return 0;
}

static long packet_send(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s);
	long error;

	if (m->address)
		m->address->len = 0;	/* it goes to the peer, whatever was asked for */
	do {
		error = socket_error(s);
		if (error)
			return error;
		if (s->shut & SHUT_WR || (u->peer && u->peer->socket->shut & SHUT_RD))
			return socket_broken_pipe(m->flags);
		if (!u->peer)
			return -ENOTCONN;
		error = wait_for_room(s, u->peer, m->nonblock);
	} while (error == 1);
	if (error)
		return error;
	m->sender = message_cred(s, u->peer->socket, m);
	return datagram_put(&u->peer->queue, m, NULL);
}

static long packet_receive(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s);

	return u->peer || s->shut & SHUT_RD ? datagram_take(s, &u->queue, m) : -ENOTCONN;
}

static unsigned packet_poll(struct socket *s, struct poll_table *table)
{
	struct unix_socket *u = unix_of(s);
	unsigned ready;

	if (!u->peer && !(s->shut & SHUT_RD)) {
		poll_wait(table, &s->accepting);
		if (s->listening)
			return s->pending_count ? POLLIN | POLLRDNORM : 0;
		return POLLOUT | POLLWRNORM | POLLHUP;
	}
	ready = unix_datagram_poll(s, table);
	if (s->shut & SHUT_RD)
		ready |= POLLRDHUP;
	if (s->shut == (SHUT_RD | SHUT_WR))
		ready |= POLLHUP;
	return ready;
}

/* The peer reads an end, or writes into a broken pipe. */
static long packet_shutdown(struct socket *s, unsigned how)
{
	struct unix_socket *peer = unix_of(s)->peer;
	long error = unix_datagram_shutdown(s, how);

	if (error)
		return error;
	if (how & SHUT_WR)
		peer->socket->shut |= SHUT_RD;
	if (how & SHUT_RD)
		peer->socket->shut |= SHUT_WR;
	wake_up(&peer->queue.readable);
	wake_up(&peer->queue.writable);
	return 0;
}

static const struct socket_ops packet_ops = {
	.bind = unix_bind, .connect = packet_connect, .listen = unix_listen, .find_listener = packet_listener,
	.accept = socket_accept, .name = unix_name, .send = packet_send, .receive = packet_receive, .poll = packet_poll,
	.shutdown = packet_shutdown, .readable_bytes = unix_datagram_bytes, .pages_held = unix_pages_held,
	.release = unix_release,
};
