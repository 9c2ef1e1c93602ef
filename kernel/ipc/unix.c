/* Unix sockets: stream and datagram, by path, by abstract name, or in pairs (unix(7)). */
#include "datagram.h"
#include "stream.h"

#include "../fs/internal.h"

#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <proc.h>
#include <signal.h>

#define PATH_OFFSET 2u		/* of sun_path in struct sockaddr_un */
#define UNIX_PATH_MAX 108u

struct unix_socket {
	struct list_head link;		/* bound sockets */
	struct socket *socket;
	struct address name;
	struct inode *inode;		/* that a path names; referenced */
	struct connection *connection;	/* stream, connected */
	unsigned end;
	struct address peer_name;
	struct datagram_queue queue;	/* datagram */
	struct unix_socket *peer;	/* datagram, connected */
	struct list_head senders;	/* datagram sockets connected to this one, by sender_link */
	struct list_head sender_link;
};

static struct list_head bound = LIST_HEAD_INIT(bound);

static const struct socket_ops stream_ops, datagram_ops;

static struct unix_socket *unix_of(const struct socket *s)
{
	return s->data;
}

static struct socket *new_unix(u16 type)
{
	const struct socket_ops *ops = type == SOCK_STREAM ? &stream_ops : &datagram_ops;
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
	return type == SOCK_STREAM || type == SOCK_DGRAM ? 0 : -ESOCKTNOSUPPORT;
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
	if (to)
		list_add(&u->sender_link, &to->senders);
}

long unix_pair(int type, struct socket *pair[2])
{
	int error = check_type(type);
	struct unix_socket *u[2];

	if (error)
		return error;
	pair[0] = new_unix((u16)type);
	pair[1] = new_unix((u16)type);
	if (!pair[0] || !pair[1])
		goto no_memory;
	for (int i = 0; i < 2; i++) {
		u[i] = unix_of(pair[i]);
		u[i]->end = (unsigned)i;
		pair[i]->peer = current_ucred();
	}
	if (type == SOCK_STREAM) {
		u[0]->connection = u[1]->connection = connection_new();
		if (!u[0]->connection)
			goto no_memory;
	} else {
		connect_datagram(u[0], u[1]);
		connect_datagram(u[1], u[0]);
	}
	return 0;
no_memory:
	for (int i = 0; i < 2; i++)
		if (pair[i])
			socket_release(pair[i]);
	return -ENOMEM;
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
	if (s->type == SOCK_STREAM) {
		if (!u->connection)
			return -ENOTCONN;
		*a = u->peer_name;
		return 0;
	}
	if (!u->peer)
		return -ENOTCONN;
	*a = u->peer->name;
	return 0;
}

static long stream_listen(struct socket *s, u32 backlog)
{
	struct unix_socket *u = unix_of(s);

	if (u->connection || u->name.len == PATH_OFFSET)
		return -EINVAL;
	s->peer = current_ucred();
	return socket_listen(s, backlog);
}

static long stream_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct unix_socket *u = unix_of(s), *server, *other;
	struct socket *embryo;
	long error;

	if (s->listening)
		return -EINVAL;
	if (u->connection)
		return -EISCONN;
	embryo = new_unix(SOCK_STREAM);
	if (!embryo)
		return -ENOMEM;
	other = unix_of(embryo);
	other->connection = connection_new();
	if (!other->connection) {
		socket_release(embryo);
		return -ENOMEM;
	}
	other->end = 1;
	/* After a sleep the listener may be another, or gone. */
	do {
		error = find_peer(a, SOCK_STREAM, &server);
		if (!error && !server->socket->listening)
			error = -ECONNREFUSED;
		if (!error)
			error = socket_enqueue_wait(server->socket, s, nonblock);
	} while (error == 1);
	if (error) {
		other->connection->refs--;
		socket_release(embryo);
		return error;
	}
	other->name = server->name;
	other->peer_name = u->name;
	embryo->peer = current_ucred();
	u->connection = other->connection;
	u->end = 0;
	u->peer_name = server->name;
	s->peer = server->socket->peer;
	socket_enqueue(server->socket, embryo);
	return 0;
}

static long unix_stream_send(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s);

	if (m->address && m->address->len)
		return u->connection ? -EISCONN : -EOPNOTSUPP;
	return u->connection ? stream_send(s, u->connection, u->end, m) : -ENOTCONN;
}

static long unix_stream_receive(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s);

	return u->connection ? stream_receive(s, u->connection, u->end, m) : -EINVAL;
}

static unsigned unix_stream_poll(struct socket *s, struct poll_table *table)
{
	struct unix_socket *u = unix_of(s);

	if (u->connection)
		return stream_poll(u->connection, u->end, table);
	poll_wait(table, &s->accepting);
	if (s->listening)
		return s->pending_count ? POLLIN | POLLRDNORM : 0;
	return POLLOUT | POLLWRNORM | POLLHUP;
}

static long unix_stream_shutdown(struct socket *s, unsigned how)
{
	struct unix_socket *u = unix_of(s);

	if (!u->connection)
		return -ENOTCONN;
	stream_shutdown(u->connection, u->end, how);
	return 0;
}

static u32 unix_stream_bytes(struct socket *s)
{
	const struct unix_socket *u = unix_of(s);

	return u->connection ? ring_used(&u->connection->side[u->end].ring) : 0;
}

static void unix_release(struct socket *s)
{
	struct unix_socket *u = unix_of(s), *sender, *next;

	list_del(&u->link);
	if (u->inode) {
		u->inode->data = NULL;
		inode_put(u->inode);
	}
	if (u->connection)
		connection_leave(u->connection, u->end);
	connect_datagram(u, NULL);
	list_for_each_entry_safe(sender, next, &u->senders, sender_link) {
		connect_datagram(sender, NULL);
		sender->socket->error = ECONNREFUSED;
		wake_up(&sender->queue.readable);	/* the next call reports the error */
	}
	socket_detach(&u->queue.readable);
	socket_detach(&u->queue.writable);
	datagram_free(&u->queue);
	kfree(u);
}

static const struct socket_ops stream_ops = {
	.bind = unix_bind, .connect = stream_connect, .listen = stream_listen, .accept = socket_accept, .name = unix_name,
	.send = unix_stream_send, .receive = unix_stream_receive, .poll = unix_stream_poll,
	.shutdown = unix_stream_shutdown, .readable_bytes = unix_stream_bytes, .release = unix_release,
};

static long datagram_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct unix_socket *u = unix_of(s), *to = NULL;
	int error = 0;

	(void)nonblock;
	if (a->len >= PATH_OFFSET && a->family == AF_UNSPEC) {
		connect_datagram(u, NULL);
		return 0;
	}
	error = find_peer(a, SOCK_DGRAM, &to);
	if (!error && to->peer && to->peer != u)
		error = -EPERM;		/* it talks with somebody else only */
	if (!error)
		connect_datagram(u, to);
	return error;
}

static int destination(struct unix_socket *u, const struct message *m, struct unix_socket **to)
{
	long error;

	if (m->address && m->address->len)
		return find_peer(m->address, SOCK_DGRAM, to);
	if (!u->peer) {
		error = socket_error(u->socket);
		return error ? (int)error : -ENOTCONN;
	}
	*to = u->peer;
	return 0;
}

static long unix_datagram_send(struct socket *s, struct message *m)
{
	struct unix_socket *u = unix_of(s), *to;
	long error;

	for (;;) {
		error = destination(u, m, &to);
		if (error)
			return error;
		if (to->peer && to->peer != u)
			return -EPERM;
		if (s->shut & SHUT_WR || to->socket->shut & SHUT_RD)
			return socket_broken_pipe(m->flags);
		if (datagram_room(&to->queue))
			return datagram_put(&to->queue, m, &u->name);
		if (m->nonblock)
			return -EAGAIN;
		/* One look per wake-up: the receiver may be gone by then. */
		struct waiter w;

		waiter_init(&w);
		w.woken = false;
		waitq_add(&to->queue.writable, &w);
		error = sleep_interruptible(&w.woken, s->send_timeout ? time_deadline(s->send_timeout) : TIME_NEVER);
		waitq_remove(&w);
		if (error)
			return error == -ETIMEDOUT ? -EAGAIN : error;
	}
}

static long unix_datagram_receive(struct socket *s, struct message *m)
{
	return datagram_take(s, &unix_of(s)->queue, m);
}

static unsigned unix_datagram_poll(struct socket *s, struct poll_table *table)
{
	struct unix_socket *u = unix_of(s);
	unsigned ready = 0;

	poll_wait(table, &u->queue.readable);
	if (u->queue.count || s->shut & SHUT_RD)
		ready |= POLLIN | POLLRDNORM;
	if (s->error)
		ready |= POLLERR;
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
	.readable_bytes = unix_datagram_bytes, .release = unix_release,
};
