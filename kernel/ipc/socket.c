/* Sockets as files: creation, connection, and the calls that name addresses. */
#include "socket.h"

#include <abi/ioctl.h>
#include <abi/socket.h>
#include <anon.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "socket_calls.h"
#include "stream.h"

static long socket_read(struct file *f, struct iter *it, u64 *position)
{
	struct socket *s = f->data;
	struct message m = { .data = it, .nonblock = f->flags & O_NONBLOCK };
	long n;

	(void)position;
	if (!it->left && s->type == SOCK_STREAM)
		return 0;
	n = s->ops->receive(s, &m);
	if (m.rights)
		rights_free(m.rights);
	return n;
}

static long socket_write(struct file *f, struct iter *it, u64 *position)
{
	struct socket *s = f->data;
	struct message m = { .data = it, .nonblock = f->flags & O_NONBLOCK };

	long n;

	(void)position;
	n = s->ops->send(s, &m);
	if (m.rights)
		rights_free(m.rights);
	return n;
}

static unsigned socket_poll(struct file *f, struct poll_table *table)
{
	struct socket *s = f->data;

	return s->ops->poll(s, table);
}

static long socket_ioctl(struct file *f, unsigned command, uintptr_t argument)
{
	struct socket *s = f->data;

	switch (command) {
	case FIONREAD:
		return put_user((s32)s->ops->readable_bytes(s), (s32 *)argument);
	case SIOCATMARK:
		return put_user((s32)stream_at_mark(s), (s32 *)argument);
	}
	return -ENOTTY;
}

static void socket_file_release(struct file *f)
{
	socket_release(f->data);
}

static u32 socket_pages_held(const struct file *f)
{
	const struct socket *s = f->data;

	return s->ops->pages_held ? s->ops->pages_held(s) : 0;
}

static const struct file_ops socket_ops = {
	.read = socket_read, .write = socket_write, .poll = socket_poll, .ioctl = socket_ioctl,
	.release = socket_file_release, .pages_held = socket_pages_held, .signals = true,
};

struct socket *socket_of(const struct file *f)
{
	return f->ops == &socket_ops ? f->data : NULL;
}

struct socket *socket_new(u16 family, u16 type, u16 protocol, const struct socket_ops *ops)
{
	struct socket *s = kzalloc(sizeof *s);

	if (!s)
		return NULL;
	s->family = family;
	s->type = type;
	s->protocol = protocol;
	s->ops = ops;
	s->buffer[0] = s->buffer[1] = SOCKET_BUFFER;
	s->peer = (struct ucred){ .pid = 0, .uid = ~0u, .gid = ~0u };
	list_init(&s->pending);
	list_init(&s->pending_link);
	waitq_init(&s->accepting);
	waitq_init(&s->room);
	list_init(&s->flight.link);
	list_init(&s->flight.work);
	list_init(&s->flight.weigh);
	return s;
}

void socket_release(struct socket *s)
{
	socket_drop_pending(s);
	s->ops->release(s);
	waitq_detach(&s->accepting);
	waitq_detach(&s->room);
	kfree(s);
}

static struct file *file_of(struct socket *s, u32 flags)
{
	struct file *f = file_anonymous("socket", S_IFSOCK | 0777, O_RDWR | (flags & SOCK_NONBLOCK), &socket_ops, s);

	if (!IS_ERR(f))
		s->file = f;
	return f;
}

/* Takes the socket over; on error releases it. */
static struct file *socket_file(struct socket *s, u32 flags)
{
	struct file *f = file_of(s, flags);

	if (IS_ERR(f))
		socket_release(s);
	return f;
}

static int socket_fd(struct socket *s, u32 flags)
{
	return fd_add(socket_file(s, flags), flags & SOCK_CLOEXEC);
}

long socket_error(struct socket *s)
{
	long error = s->error;

	s->error = 0;
	return -error;
}

struct ucred current_ucred(void)
{
	return (struct ucred){ .pid = current->tgid, .uid = current->cred.euid, .gid = current->cred.egid };
}

struct ucred message_cred(const struct socket *from, const struct socket *to, const struct message *m)
{
	if (m->as)
		return *m->as;
	if (socket_option(from, SO_PASSCRED) || (to && socket_option(to, SO_PASSCRED)))
		return (struct ucred){ .pid = current->tgid, .uid = current->cred.uid, .gid = current->cred.gid };
	return (struct ucred){ .pid = 0, .uid = UID_NOBODY, .gid = UID_NOBODY };
}

long socket_broken_pipe(u32 flags)
{
	if (!(flags & MSG_NOSIGNAL))
		signal_task(current, SIGPIPE, NULL);
	return -EPIPE;
}

long socket_listen(struct socket *s, u32 backlog)
{
	s->backlog = MIN(backlog, SOCKET_BACKLOG_MAX) + 1;	/* a backlog of 0 still lets one wait */
	s->listening = true;
	wake_up(&s->room);
	return 0;
}

/* A place in the listener's queue: 0; 1 after a sleep; -EAGAIN, -ERESTARTSYS. */
static long enqueue_wait(struct socket *listener, struct socket *from, bool nonblock)
{
	struct waiter w;
	long result;

	if (listener->pending_count < listener->backlog)
		return 0;
	if (nonblock)
		return -EAGAIN;
	waiter_init(&w);
	w.woken = false;
	waitq_add(&listener->room, &w);
	result = sleep_interruptible(&w.woken, from->send_timeout ? time_deadline(from->send_timeout) : TIME_NEVER);
	waitq_remove(&w);
	if (result == -ETIMEDOUT)
		return -EAGAIN;
	return result ? result : 1;
}

/* After a sleep the listener may be another, or gone. */
long socket_find_listener(struct socket *from, const struct address *a, bool nonblock, struct socket **listener)
{
	long error;

	do {
		error = from->ops->find_listener(a, listener);
		if (!error)
			error = enqueue_wait(*listener, from, nonblock);
	} while (error == 1);
	return error;
}

void socket_enqueue(struct socket *listener, struct socket *embryo)
{
	list_add_tail(&embryo->pending_link, &listener->pending);
	listener->pending_count++;
	wake_up(&listener->accepting);
}

static struct socket *take_pending(struct socket *listener)
{
	struct socket *s = list_first_entry(&listener->pending, struct socket, pending_link);

	list_del(&s->pending_link);
	listener->pending_count--;
	return s;
}

/* The next accept gets it. */
static void put_back(struct socket *listener, struct socket *s)
{
	list_add(&s->pending_link, &listener->pending);
	listener->pending_count++;
	wake_up(&listener->accepting);
}

void socket_drop_pending(struct socket *listener)
{
	while (listener->pending_count)
		socket_release(take_pending(listener));
}

long socket_accept(struct socket *s, bool nonblock, struct socket **out)
{
	long result;

	if (!s->listening)
		return -EINVAL;
	result = SOCKET_WAIT(&s->accepting, s->pending_count, nonblock, s->receive_timeout);
	if (result)
		return result;
	*out = take_pending(s);
	wake_up(&s->room);
	return 0;
}

struct file *socket_from_fd(int fd, struct socket **out)
{
	struct file *f = fd_get_of(fd, &socket_ops, -ENOTSOCK);

	if (!IS_ERR(f))
		*out = f->data;
	return f;
}

int address_from_user(struct address *a, const void *user, u32 len)
{
	if ((s32)len < 0 || len > ADDRESS_MAX)
		return -EINVAL;
	memset(a, 0, sizeof *a);
	a->len = len;
	return copy_from_user(a->bytes, user, len);
}

/* Copies what fits, and stores the whole length. */
int address_to_user(const struct address *a, void *user, u32 *user_len)
{
	u32 room;

	if (get_user(room, user_len))
		return -EFAULT;
	if ((s32)room < 0)
		return -EINVAL;
	if (copy_to_user(user, a->bytes, MIN(room, a->len)))
		return -EFAULT;
	return put_user(a->len, user_len);
}

static long socket_create(int family, int type, int protocol, struct socket **out)
{
	switch (family) {
	case AF_UNIX:
		return unix_create(type, protocol, out);
	case AF_INET:
		return inet_create(type, protocol, out);
	case AF_NETLINK:
		return netlink_create(type, protocol, out);
	}
	return -EAFNOSUPPORT;
}

long sys_socket(int family, int type, int protocol)
{
	u32 flags = (u32)type & ~(u32)SOCK_TYPE_MASK;
	struct socket *s;
	long result;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	result = socket_create(family, type & SOCK_TYPE_MASK, protocol, &s);
	return result ? result : socket_fd(s, flags);
}

long sys_socketpair(int family, int type, int protocol, s32 *user)
{
	u32 flags = (u32)type & ~(u32)SOCK_TYPE_MASK;
	struct socket *pair[2];
	long result;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	if (family == AF_INET)
		return -EOPNOTSUPP;
	if (family != AF_UNIX)
		return -EAFNOSUPPORT;
	if (protocol && protocol != AF_UNIX)
		return -EPROTONOSUPPORT;
	result = unix_pair(type & SOCK_TYPE_MASK, pair);
	if (result)
		return result;
	return fd_add_pair(socket_file(pair[0], flags), socket_file(pair[1], flags), flags & SOCK_CLOEXEC, user);
}

long sys_bind(int fd, const struct sockaddr *user, u32 len)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct address a;
	long result;

	if (IS_ERR(f))
		return PTR_ERR(f);
	result = address_from_user(&a, user, len);
	if (!result)
		result = s->ops->bind(s, &a);
	file_put(f);
	return result;
}

long sys_connect(int fd, const struct sockaddr *user, u32 len)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct address a;
	long result;

	if (IS_ERR(f))
		return PTR_ERR(f);
	result = address_from_user(&a, user, len);
	if (!result)
		result = s->ops->connect(s, &a, f->flags & O_NONBLOCK);
	file_put(f);
	return result;
}

long sys_listen(int fd, int backlog)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	long result;

	if (IS_ERR(f))
		return PTR_ERR(f);
	result = s->ops->listen ? s->ops->listen(s, (u32)backlog) : -EOPNOTSUPP;
	file_put(f);
	return result;
}

/* Whatever fails, the connection stays for the next call, unless its other end is gone with its name. */
static long accept_on(struct socket *s, bool nonblock, struct sockaddr *user, u32 *len, u32 flags)
{
	struct socket *new;
	struct address a;
	struct file *f;
	long result;

	if (!s->ops->accept)
		return -EOPNOTSUPP;
	result = fd_reserve(0);
	if (result < 0)
		return result;
	result = s->ops->accept(s, nonblock, &new);
	if (result)
		return result;
	if (user && new->ops->name(new, &a, true)) {
		socket_release(new);
		return -ECONNABORTED;
	}
	result = user ? address_to_user(&a, user, len) : 0;
	/* The copy may have slept, and another thread have taken the descriptor. */
	if (!result)
		result = fd_reserve(0);
	if (result >= 0) {
		f = file_of(new, flags);
		if (!IS_ERR(f)) {
			fd_install((int)result, f, flags & SOCK_CLOEXEC);
			return result;
		}
		result = PTR_ERR(f);
	}
	put_back(s, new);
	return result;
}

long sys_accept4(int fd, struct sockaddr *user, u32 *len, u32 flags)
{
	struct socket *s;
	struct file *f;
	long result;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	f = socket_from_fd(fd, &s);
	if (IS_ERR(f))
		return PTR_ERR(f);
	result = accept_on(s, f->flags & O_NONBLOCK, user, len, flags);
	file_put(f);
	return result;
}

long sys_accept(int fd, struct sockaddr *user, u32 *len)
{
	return sys_accept4(fd, user, len, 0);
}

static long give_name(int fd, struct sockaddr *user, u32 *len, bool peer)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct address a;
	long result;

	if (IS_ERR(f))
		return PTR_ERR(f);
	result = s->ops->name(s, &a, peer);
	if (!result)
		result = address_to_user(&a, user, len);
	file_put(f);
	return result;
}

long sys_getsockname(int fd, struct sockaddr *user, u32 *len)
{
	return give_name(fd, user, len, false);
}

long sys_getpeername(int fd, struct sockaddr *user, u32 *len)
{
	return give_name(fd, user, len, true);
}

long sys_shutdown(int fd, int how)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	long result = -EINVAL;

	if (IS_ERR(f))
		return PTR_ERR(f);
	if (how >= 0 && how <= 2)
		result = s->ops->shutdown(s, (unsigned)how + 1);
	file_put(f);
	return result;
}
