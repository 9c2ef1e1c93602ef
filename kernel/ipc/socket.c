/* Sockets as files: creation, connection, and the calls that name addresses. */
#include <abi/ioctl.h>
#include <abi/socket.h>
#include <abi/termios.h>
#include <anon.h>
#include <arch.h>
#include <async.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "rights.h"
#include "socket.h"
#include "socket_calls.h"
#include "stream.h"

static long socket_read(struct file *file, struct iter *it, u64 *position)
{
	struct socket *socket = file->data;
	struct message m = { .data = it, .nonblock = file->flags & O_NONBLOCK };
	long n;

	(void)position;
	if (!it->left)
		return 0;       /* a read of no bytes gives 0, whatever is queued, as on Linux */
	n = socket->ops->receive(socket, &m);
	if (m.rights)
		rights_free(m.rights);
	return n;
}

static long write_with(struct file *file, struct iter *it, u32 flags)
{
	struct socket *socket = file->data;
	struct message m = { .data = it, .nonblock = file->flags & O_NONBLOCK, .flags = flags };
	long n = socket->ops->send(socket, &m);

	if (m.rights)
		rights_free(m.rights);
	return n;
}

static long socket_write(struct file *file, struct iter *it, u64 *position)
{
	(void)position;
	return write_with(file, it, 0);
}

long socket_write_more(struct file *file, struct iter *it)
{
	return write_with(file, it, MSG_MORE);
}

static unsigned socket_poll(struct file *file, struct poll_table *table)
{
	struct socket *socket = file->data;

	return socket->ops->poll(socket, table);
}

/* FIONREAD: bytes to read. The others: bytes that a Unix socket's peer has not read, or that TCP has not sent. */
static long queued_bytes(struct socket *socket, unsigned command, s32 *user)
{
	bool tcp = socket->family == AF_INET && socket->type == SOCK_STREAM;
	u32 bytes = 0;

	if (socket->listening)
		return -EINVAL;
	if (command == SIOCOUTQNSD && !tcp)
		return -ENOTTY;
	if (command == FIONREAD)
		bytes = socket->ops->readable_bytes(socket);
	else
		bytes = tcp ? stream_unsent(socket) : stream_unread(socket);
	return put_user((s32)bytes, user);
}

static long socket_ioctl(struct file *file, unsigned command, uintptr_t argument)
{
	struct socket *socket = file->data;

	switch (command) {
	case FIONREAD:
	case TIOCOUTQ:
	case SIOCOUTQNSD:
		return queued_bytes(socket, command, (s32 *)argument);
	case SIOCATMARK:
		if (socket->family == AF_INET && socket->type != SOCK_STREAM)
			return -ENOTTY;
		return put_user((s32)stream_at_mark(socket), (s32 *)argument);
	}
	return interface_ioctl(socket, command, (void *)argument);
}

static void socket_file_release(struct file *file)
{
	socket_release(file->data);
}

static u32 socket_pages_held(const struct file *file)
{
	const struct socket *socket = file->data;

	return socket->ops->pages_held ? socket->ops->pages_held(socket) : 0;
}

static const struct file_ops socket_ops = {
	.read = socket_read, .write = socket_write, .poll = socket_poll, .ioctl = socket_ioctl,
	.release = socket_file_release, .long_release = true, .pages_held = socket_pages_held, .signals = true,
};

struct socket *socket_of(const struct file *file)
{
	return file->ops == &socket_ops ? file->data : NULL;
}

struct socket *socket_new(u16 family, u16 type, u16 protocol, const struct socket_ops *ops)
{
	struct socket *socket = kzalloc(sizeof(*socket));

	if (!socket)
		return NULL;
	socket->family = family;
	socket->type = type;
	socket->protocol = protocol;
	socket->ops = ops;
	socket->settings.buffer[0] = socket->settings.buffer[1] = SOCKET_BUFFER;
	socket->settings.low_water = socket->poll_water = 1;
	socket->peer = (struct ucred){ .pid = 0, .uid = ~0u, .gid = ~0u };
	list_init(&socket->pending);
	list_init(&socket->pending_link);
	waitq_init(&socket->accepting);
	waitq_init(&socket->room);
	list_init(&socket->flight.link);
	list_init(&socket->flight.work);
	list_init(&socket->flight.weigh);
	return socket;
}

void socket_release(struct socket *socket)
{
	socket->listening = false;      /* no more connections come while other tasks run */
	if (!list_empty(&socket->pending))
		socket_drop_pending(socket);
	socket->ops->release(socket);
	waitq_detach(&socket->accepting);
	waitq_detach(&socket->room);
	list_del(&socket->flight.work);
	kfree(socket);
}

void socket_requeue(struct socket *socket)
{
	poll_queue_changes++;
	if (!socket->file)
		return;
	epoll_requeue(socket->file);
	async_requeue(socket->file);
}

void socket_changed(struct socket *socket)
{
	socket_requeue(socket);
	wake_up(&socket->accepting);
}

static struct file *file_of(struct socket *socket, u32 flags)
{
	struct file *file = file_anonymous("socket", S_IFSOCK | 0777, O_RDWR | (flags & SOCK_NONBLOCK), &socket_ops,
					   socket);

	if (!IS_ERR(file))
		socket->file = file;
	return file;
}

/* Creates the file of a socket, to which the socket then belongs; on error releases the socket. */
static struct file *socket_file(struct socket *socket, u32 flags)
{
	struct file *file = file_of(socket, flags);

	if (IS_ERR(file))
		socket_release(socket);
	return file;
}

static int socket_fd(struct socket *socket, u32 flags)
{
	return fd_add(socket_file(socket, flags), flags & SOCK_CLOEXEC);
}

long socket_error(struct socket *socket)
{
	long error = socket->error;

	socket->error = 0;
	return -error;
}

struct ucred current_ucred(void)
{
	return (struct ucred){ .pid = current->tgid, .uid = current->cred.euid, .gid = current->cred.egid };
}

struct ucred message_cred(const struct socket *from, const struct socket *socket, const struct message *message)
{
	if (message->as)
		return *message->as;
	if (socket_option(from, SO_PASSCRED) || (socket && socket_option(socket, SO_PASSCRED)))
		return (struct ucred){ .pid = current->tgid, .uid = current->cred.uid, .gid = current->cred.gid };
	return (struct ucred){ .pid = 0, .uid = UID_NOBODY, .gid = UID_NOBODY };
}

long socket_broken_pipe(u32 flags)
{
	if (!(flags & MSG_NOSIGNAL))
		signal_task(current, SIGPIPE, NULL);
	return -EPIPE;
}

long socket_listen(struct socket *socket, u32 backlog)
{
	socket->backlog = MIN(backlog, SOCKET_BACKLOG_MAX) + 1; /* a backlog of 0 still lets one wait */
	socket->listening = true;
	wake_up(&socket->room);
	return 0;
}

/* Waits for a place in the listener's queue. 0: there is one; 1: slept, so check again; -EAGAIN, -ERESTARTSYS. */
static long enqueue_wait(struct socket *listener, bool nonblock, u64 deadline)
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
	result = sleep_interruptible(&w.woken, deadline);
	waitq_remove(&w);
	if (result == -ETIMEDOUT)
		return -EAGAIN;
	return result ? result : 1;
}

/* Looks the listener up again after each sleep, because it may have been closed or replaced. */
long socket_find_listener(struct socket *from, const struct address *address, bool nonblock, struct socket **listener)
{
	u64 deadline = socket_deadline(from->settings.send_timeout);
	long error;

	do {
		error = from->ops->find_listener(address, listener);
		if (!error)
			error = enqueue_wait(*listener, nonblock, deadline);
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
	struct socket *socket = list_first_entry(&listener->pending, struct socket, pending_link);

	list_del(&socket->pending_link);
	listener->pending_count--;
	return socket;
}

/* Puts a connection back at the head of the queue: the next accept returns it. */
static void pending_put_back(struct socket *listener, struct socket *socket)
{
	list_add(&socket->pending_link, &listener->pending);
	listener->pending_count++;
	wake_up(&listener->accepting);
}

void socket_drop_pending(struct socket *listener)
{
	while (listener->pending_count) {
		struct socket *socket = take_pending(listener);

		socket->aborted = true;
		socket_release(socket);
		preemption_point();
	}
}

unsigned socket_listener_poll(const struct socket *socket)
{
	unsigned ready = socket->pending_count ? POLLIN | POLLRDNORM : 0;

	if (socket->shut & SHUT_RD)
		ready |= POLLIN | POLLRDNORM | POLLRDHUP;
	if (socket->shut == (SHUT_RD | SHUT_WR))
		ready |= POLLHUP;
	/* TCP tells of connections only. */
	return socket->error && socket->family != AF_INET ? ready | POLLERR : ready;
}

/* Whether an accept need not wait: the listener has a connection, or has been shut down. */
static bool accept_ends(const struct socket *socket)
{
	return socket->pending_count || !socket->listening || socket->shut & SHUT_RD;
}

long socket_accept(struct socket *socket, bool nonblock, struct socket **out)
{
	u64 deadline;
	long result;

	if (!socket->listening)
		return -EINVAL;
	deadline = socket_deadline(socket->settings.receive_timeout);
	/* Without a wait, the call does not look for a shutdown, as on Linux. */
	result = SOCKET_WAIT(&socket->accepting, nonblock ? socket->pending_count : accept_ends(socket), nonblock,
			     deadline);
	if (result)
		return result;
	if (!socket->pending_count)
		return -EINVAL;
	*out = take_pending(socket);
	rights_accepted(*out);
	wake_up(&socket->room);
	return 0;
}

struct file *socket_from_fd(int fd, struct socket **out)
{
	struct file *file = fd_get_of(fd, &socket_ops, -ENOTSOCK);

	if (!IS_ERR(file))
		*out = file->data;
	return file;
}

int address_from_user(struct address *address, const void *user, u32 len)
{
	if ((s32)len < 0 || len > ADDRESS_MAX)
		return -EINVAL;
	memset(address, 0, sizeof(*address));
	address->len = len;
	return copy_from_user(address->bytes, user, len);
}

/* Copies what fits, and stores the whole length. */
int address_to_user(const struct address *address, void *user, u32 *user_len)
{
	u32 room;

	if (get_user(room, user_len))
		return -EFAULT;
	if ((s32)room < 0)
		return -EINVAL;
	if (copy_to_user(user, address->bytes, MIN(room, address->len)))
		return -EFAULT;
	return put_user(address->len, user_len);
}

static long socket_create(int family, int type, int protocol, struct socket **out)
{
	if ((u32)family < AF_MAX && type >= SOCK_MAX)
		return -EINVAL;
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
	struct socket *socket;
	long result;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	result = socket_create(family, type & SOCK_TYPE_MASK, protocol, &socket);
	return result ? result : socket_fd(socket, flags);
}

long sys_socketpair(int family, int type, int protocol, s32 *user)
{
	u32 flags = (u32)type & ~(u32)SOCK_TYPE_MASK;
	struct socket *pair[2];
	long result;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	if ((u32)family < AF_MAX && (type & SOCK_TYPE_MASK) >= SOCK_MAX)
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
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	struct address a;
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = address_from_user(&a, user, len);
	if (!result)
		result = socket->ops->bind(socket, &a);
	file_put(file);
	return result;
}

long sys_connect(int fd, const struct sockaddr *user, u32 len)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	struct address a;
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = address_from_user(&a, user, len);
	if (!result)
		result = socket->ops->connect(socket, &a, file->flags & O_NONBLOCK);
	file_put(file);
	return result;
}

long sys_listen(int fd, int backlog)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = socket->ops->listen ? socket->ops->listen(socket, (u32)backlog) : -EOPNOTSUPP;
	file_put(file);
	return result;
}

/* Without room for the file, the next accept gets the connection. A name that cannot be given ends it, as on Linux. */
static long accept_on(struct socket *socket, bool nonblock, struct sockaddr *user, u32 *len, u32 flags)
{
	struct socket *new;
	struct address a;
	struct file *file;
	long result;

	if (!socket->ops->accept)
		return -EOPNOTSUPP;
	result = fd_reserve(0);
	if (result < 0)
		return result;
	result = socket->ops->accept(socket, nonblock, &new);
	if (result)
		return result;
	if (user)
		result = new->ops->name(new, &a, ACCEPTED_NAME) ? -ECONNABORTED : address_to_user(&a, user, len);
	if (result) {
		socket_release(new);
		return result > 0 ? -EFAULT : result;
	}
	/* Reserve again: the copy may have slept, and another thread may have taken the number. */
	result = fd_reserve(0);
	if (result >= 0) {
		file = file_of(new, flags);
		if (!IS_ERR(file)) {
			fd_install((int)result, file, flags & SOCK_CLOEXEC);
			return result;
		}
		result = PTR_ERR(file);
	}
	pending_put_back(socket, new);
	return result;
}

long sys_accept4(int fd, struct sockaddr *user, u32 *len, u32 flags)
{
	struct socket *socket;
	struct file *file;
	long result;

	if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
		return -EINVAL;
	file = socket_from_fd(fd, &socket);
	if (IS_ERR(file))
		return PTR_ERR(file);
	result = accept_on(socket, file->flags & O_NONBLOCK, user, len, flags);
	file_put(file);
	return result;
}

static long give_name(int fd, struct sockaddr *user, u32 *len, enum socket_name which)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	struct address a;
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = socket->ops->name(socket, &a, which);
	if (!result)
		result = address_to_user(&a, user, len);
	file_put(file);
	return result;
}

long sys_getsockname(int fd, struct sockaddr *user, u32 *len)
{
	return give_name(fd, user, len, OWN_NAME);
}

long sys_getpeername(int fd, struct sockaddr *user, u32 *len)
{
	return give_name(fd, user, len, PEER_NAME);
}

long sys_shutdown(int fd, int how)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	long result = -EINVAL;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (how >= 0 && how <= 2)
		result = socket->ops->shutdown(socket, (unsigned)how + 1);
	file_put(file);
	return result;
}
