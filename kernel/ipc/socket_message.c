/* Sending and receiving: send, sendto, sendmsg and their counterparts. */
#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <timeout.h>
#include <uaccess.h>

#include "socket_calls.h"
#include "stream.h"

#define CONTROL_MAX 4096u

/* Whether current may send these credentials (unix(7)). */
static long check_cred(const struct ucred *c)
{
	const struct credentials *own = &current->cred;
	bool uid = c->uid == own->uid || c->uid == own->euid || c->uid == own->suid;
	bool gid = c->gid == own->gid || c->gid == own->egid || c->gid == own->sgid;

	if (!(c->pid == current->tgid && uid && gid) && !capable())
		return -EPERM;
	return c->pid == current->tgid || task_find(c->pid) ? 0 : -ESRCH;
}

/* Reads one piece of a send's ancillary data: descriptors to pass, or credentials. */
static long read_piece(const struct cmsghdr *c, struct message *message, struct ucred *cred, u32 room)
{
	u32 size = c->len - (u32)sizeof(*c);

	if (c->type == SCM_RIGHTS)
		return rights_add(&message->rights, (const s32 *)(c + 1), size / sizeof(s32), room);
	if (c->type != SCM_CREDENTIALS || size != sizeof(*cred))
		return -EINVAL;
	memcpy(cred, c + 1, sizeof(*cred));
	message->as = cred;
	return check_cred(cred);
}

/* Reads a send's ancillary data. On error the message has none. */
static long read_control(const struct socket *socket, const struct msghdr *h, struct message *message,
			 struct ucred *cred)
{
	u8 *control;
	u32 at = 0;
	long result = 0;

	if (!h->control_len)
		return 0;
	if (h->control_len > CONTROL_MAX)
		return -ENOBUFS;
	control = kmalloc(h->control_len);
	if (!control)
		return -ENOMEM;
	if (copy_from_user(control, (const void *)(uaddr_t)h->control, h->control_len))
		result = -EFAULT;
	while (!result && at + sizeof(struct cmsghdr) <= h->control_len) {
		const struct cmsghdr *c = (const struct cmsghdr *)(control + at);

		if (c->len < sizeof(*c) || c->len > h->control_len - at)
			result = -EINVAL;
		else if (c->level == SOL_SOCKET && socket->family == AF_UNIX)
			result = read_piece(c, message, cred, h->control_len / sizeof(s32));
		else if (c->level == IPPROTO_IP && socket->family == AF_INET && socket->type == SOCK_DGRAM)
			result = udp_read_control(message, c->type, c + 1, c->len - (u32)sizeof(*c));
		if (!result)
			at += CMSG_ALIGN(c->len);
	}
	kfree(control);
	if (result && message->rights) {
		rights_free(message->rights);
		message->rights = NULL;
	}
	return result;
}

static void control_advance(struct control *out, u32 size)
{
	size = MIN(CMSG_ALIGN(size), out->left);
	out->at += size;
	out->left -= size;
}

void control_put(struct control *out, s32 level, s32 type, const void *data, u32 size)
{
	struct cmsghdr header = { .level = level, .type = type };

	if (out->left < sizeof(header) + size)
		out->flags |= MSG_CTRUNC;
	if (out->left < sizeof(header))
		return;
	size = MIN(size, out->left - (u32)sizeof(header));
	header.len = (u32)sizeof(header) + size;
	if (copy_to_user((void *)out->at, &header, sizeof(header)) ||
	    copy_to_user((void *)(out->at + sizeof(header)), data, size))
		out->flags |= MSG_CTRUNC;
	else
		control_advance(out, header.len);
}

/* Installs received files as descriptors, but only as many as the receiver is told of. */
static void write_rights(struct control *out, const struct rights *rights, bool cloexec)
{
	struct cmsghdr c = { .level = SOL_SOCKET, .type = SCM_RIGHTS };
	u32 room = out->left > sizeof(c) ? (out->left - sizeof(c)) / sizeof(s32) : 0, given = 0;

	while (given < rights->count && given < room) {
		s32 fd = fd_add(file_get(rights->file[given]), cloexec);

		if (fd < 0)
			break;
		/* The header counts the descriptors up to this one. */
		c.len = sizeof(c) + (given + 1) * sizeof(s32);
		if (put_user(fd, (s32 *)(out->at + sizeof(c)) + given) ||
		    copy_to_user((void *)out->at, &c, sizeof(c))) {
			fd_take_back(fd, rights->file[given]);
			break;
		}
		given++;
	}
	if (given < rights->count)
		out->flags |= MSG_CTRUNC;
	if (!given)
		return;
	control_advance(out, sizeof(c) + given * sizeof(s32));
}

/* Writes a message's ancillary data; MSG_CTRUNC: there was no room. */
static u32 write_control(const struct socket *socket, struct msghdr *h, const struct message *message)
{
	struct control out = { .at = h->control, .left = h->control ? h->control_len : 0 };

	if (socket->family == AF_UNIX && socket_option(socket, SO_PASSCRED))
		control_put(&out, SOL_SOCKET, SCM_CREDENTIALS, &message->sender, sizeof(message->sender));
	if (socket->family == AF_INET && socket->type == SOCK_DGRAM)
		udp_write_control(socket, &out, message);
	if (message->rights)
		write_rights(&out, message->rights, message->flags & MSG_CMSG_CLOEXEC);
	h->control_len = out.at - h->control;
	return out.flags;
}

static long send_message(struct file *file, struct socket *socket, struct message *message)
{
	long n;

	message->nonblock = file->flags & O_NONBLOCK || message->flags & MSG_DONTWAIT;
	if (message->flags & MSG_OOB &&
	    ((socket->type != SOCK_STREAM && socket->type != SOCK_SEQPACKET) ||
	     (socket->type == SOCK_STREAM && socket->family == AF_UNIX && !message->data->left)))
		n = -EOPNOTSUPP;
	else
		n = socket->ops->send(socket, message);
	if (message->rights)
		rights_free(message->rights);
	return n;
}

static long receive_message(struct file *file, struct socket *socket, struct message *message)
{
	/* A UDP socket ignores the flag. */
	if (message->flags & MSG_OOB && socket->type == SOCK_STREAM)
		return socket->family == AF_INET && socket->listening ? -ENOTCONN :
		       stream_receive_urgent(socket, message);
	if (message->flags & MSG_OOB && socket->family != AF_INET && socket->type != SOCK_SEQPACKET)
		return -EOPNOTSUPP;
	if (message->flags & MSG_ERRQUEUE && socket->family == AF_INET)
		return socket->type == SOCK_DGRAM ? udp_receive_error(socket, message) : -EAGAIN;
	message->nonblock = file->flags & O_NONBLOCK || message->flags & MSG_DONTWAIT;
	return socket->ops->receive(socket, message);
}

long sys_sendto(int fd, const void *buffer, size_t size, u32 flags, const struct sockaddr *user, u32 len)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = &a, .named = user };
	long result = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (!user_range_ok(buffer, size))
		result = -EFAULT;
	else if (user)
		result = address_from_user(&a, user, len);
	if (!result) {
		iter_init(&it, (void *)(uintptr_t)buffer, MIN(size, (size_t)TRANSFER_MAX), false);
		result = send_message(file, socket, &m);
	}
	file_put(file);
	return result;
}

long sys_recvfrom(int fd, void *buffer, size_t size, u32 flags, struct sockaddr *user, u32 *len)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = user ? &a : NULL };
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (!user_range_ok(buffer, size)) {
		result = -EFAULT;
	} else {
		iter_init(&it, buffer, MIN(size, (size_t)TRANSFER_MAX), false);
		result = receive_message(file, socket, &m);
		if (m.rights)
			rights_free(m.rights);
		if (result >= 0 && user && address_to_user(&a, user, len)) {
			u32 room;

			result = get_user(room, len) || (s32)room >= 0 ? -EFAULT : -EINVAL;
		}
	}
	file_put(file);
	return result;
}

static long load_vector(struct user_vector *vector, const struct msghdr *h, struct iter *it)
{
	if (h->vector_len > IOV_MAX)
		return -EMSGSIZE;
	return user_vector_load(vector, (const struct iovec *)(uaddr_t)h->vector, h->vector_len, it);
}

static long sendmsg_on(struct file *file, struct socket *socket, const struct msghdr *h, u32 flags)
{
	struct user_vector vector;
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = &a };
	struct ucred cred;
	long result = 0;

	/* As on Linux a longer name is cut, and a length without a name is none. */
	if (h->name && (s32)h->name_len < 0)
		return -EINVAL;
	if (h->name && h->name_len)
		result = address_from_user(&a, (const void *)(uaddr_t)h->name, MIN(h->name_len, ADDRESS_MAX));
	if (result)
		return result;
	result = load_vector(&vector, h, &it);
	if (result)
		return result;
	result = read_control(socket, h, &m, &cred);
	if (!result)
		result = send_message(file, socket, &m);
	user_vector_free(&vector);
	return result;
}

static long sendmsg_from(struct file *file, struct socket *socket, struct msghdr *user, u32 flags)
{
	struct msghdr h;

	return copy_from_user(&h, user, sizeof(h)) ? -EFAULT : sendmsg_on(file, socket, &h, flags);
}

static long recvmsg_on(struct file *file, struct socket *socket, struct msghdr *h, u32 flags)
{
	struct user_vector vector;
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = &a };
	long result;

	if (h->name && (s32)h->name_len < 0)
		return -EINVAL;
	result = load_vector(&vector, h, &it);
	if (result)
		return result;
	result = receive_message(file, socket, &m);
	user_vector_free(&vector);
	if (result >= 0) {
		h->flags = (flags & MSG_CMSG_CLOEXEC) | m.out_flags | write_control(socket, h, &m);
		if (h->name && copy_to_user((void *)(uaddr_t)h->name, a.bytes, MIN(h->name_len, a.len)))
			result = -EFAULT;
		h->name_len = h->name ? a.len : h->name_len;
	}
	if (m.rights)
		rights_free(m.rights);
	return result;
}

static long recvmsg_to(struct file *file, struct socket *socket, struct msghdr *user, u32 flags)
{
	struct msghdr h;
	long result;

	if (copy_from_user(&h, user, sizeof(h)))
		return -EFAULT;
	result = recvmsg_on(file, socket, &h, flags);
	return result >= 0 && copy_to_user(user, &h, sizeof(h)) ? -EFAULT : result;
}

/* sendmsg_from or recvmsg_to, for the message header at `user`. */
typedef long message_call(struct file *f, struct socket *s, struct msghdr *user, u32 flags);

static long one_message(int fd, struct msghdr *user, u32 flags, message_call *call)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	result = call(file, socket, user, flags);
	file_put(file);
	return result;
}

long sys_sendmsg(int fd, const struct msghdr *user, u32 flags)
{
	return one_message(fd, (struct msghdr *)(uintptr_t)user, flags, sendmsg_from);
}

long sys_recvmsg(int fd, struct msghdr *user, u32 flags)
{
	return one_message(fd, user, flags, recvmsg_to);
}

#define MESSAGES_MAX 1024u      /* in one call; more are left for the next */

/* The deadline is checked after each message: waiting for one continues beyond it, as on Linux. */
static long many_messages(int fd, struct mmsghdr *user, u32 count, u32 flags, message_call *call, u64 deadline)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	bool first_only = call == recvmsg_to && flags & MSG_WAITFORONE;
	u32 done = 0;
	long result = 0;

	if (IS_ERR(file))
		return PTR_ERR(file);
	while (done < MIN(count, MESSAGES_MAX)) {
		result = call(file, socket, &user[done].header, flags & ~MSG_WAITFORONE);
		if (result >= 0)
			result = put_user((u32)result, &user[done].size);
		if (result < 0)
			break;
		done++;
		if (first_only)
			flags |= MSG_DONTWAIT;
		if (deadline != TIME_NEVER && time_now_ns() >= deadline)
			break;
	}
	/* An error after the first received message is reported by the next call. */
	if (call == recvmsg_to && done && result < 0 && result != -EAGAIN && result != -ERESTARTSYS)
		socket->error = (s32)-result;
	file_put(file);
	return done ? (long)done : result;
}

long sys_sendmmsg(int fd, struct mmsghdr *user, u32 count, u32 flags)
{
	return many_messages(fd, user, count, flags, sendmsg_from, TIME_NEVER);
}

long sys_recvmmsg_by(int fd, struct mmsghdr *user, u32 count, u32 flags, void *timeout, bool time64)
{
	struct timeout t;
	long result = timeout_load(&t, timeout, time64 ? TIMESPEC64 : TIMESPEC32);

	if (result)
		return result;
	result = many_messages(fd, user, count, flags, recvmsg_to, t.deadline);
	timeout_store(&t);
	return result;
}
