/* Sending and receiving: send, sendto, sendmsg and their counterparts. */
#include "socket_calls.h"
#include "stream.h"
#include "timeout.h"

#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#define CONTROL_MAX 4096u

/* Whom current may say that a message comes from (unix(7)). */
static long check_cred(const struct ucred *c)
{
	const struct credentials *own = &current->cred;
	bool uid = c->uid == own->uid || c->uid == own->euid || c->uid == own->suid;
	bool gid = c->gid == own->gid || c->gid == own->egid || c->gid == own->sgid;

	if (!(c->pid == current->tgid && uid && gid) && !capable())
		return -EPERM;
	return c->pid == current->tgid || task_find(c->pid) ? 0 : -ESRCH;
}

/* One piece of the ancillary data of a send: descriptors to pass, or who it comes from. */
static long read_piece(const struct cmsghdr *c, struct message *m, struct ucred *cred, u32 room)
{
	u32 size = c->len - (u32)sizeof *c;

	if (c->type == SCM_RIGHTS)
		return rights_add(&m->rights, (const s32 *)(c + 1), size / sizeof(s32), room);
	if (c->type != SCM_CREDENTIALS || size != sizeof *cred)
		return -EINVAL;
	memcpy(cred, c + 1, sizeof *cred);
	m->as = cred;
	return check_cred(cred);
}

/* The ancillary data of a send. On error the message has none. */
static long read_control(const struct socket *s, const struct msghdr *h, struct message *m, struct ucred *cred)
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
	if (copy_from_user(control, (const void *)h->control, h->control_len))
		result = -EFAULT;
	while (!result && at + sizeof(struct cmsghdr) <= h->control_len) {
		const struct cmsghdr *c = (const struct cmsghdr *)(control + at);

		if (c->len < sizeof *c || c->len > h->control_len - at)
			result = -EINVAL;
		else if (c->level == SOL_SOCKET && s->family == AF_UNIX)
			result = read_piece(c, m, cred, h->control_len / sizeof(s32));
		if (!result)
			at += CMSG_ALIGN(c->len);
	}
	kfree(control);
	if (result && m->rights) {
		rights_free(m->rights);
		m->rights = NULL;
	}
	return result;
}

/* Where the next piece of a receiver's ancillary data goes. */
struct control {
	u32 at, left;	/* user address; bytes */
	u32 flags;	/* MSG_CTRUNC */
};

static void advance(struct control *out, u32 size)
{
	size = MIN(CMSG_ALIGN(size), out->left);
	out->at += size;
	out->left -= size;
}

static void write_cred(struct control *out, const struct ucred *cred)
{
	struct {
		struct cmsghdr header;
		struct ucred cred;
	} c = { { sizeof c, SOL_SOCKET, SCM_CREDENTIALS }, *cred };

	if (out->left < sizeof c)
		out->flags |= MSG_CTRUNC;
	if (out->left < sizeof c.header)
		return;
	c.header.len = MIN((u32)sizeof c, out->left);
	if (copy_to_user((void *)out->at, &c, c.header.len))
		out->flags |= MSG_CTRUNC;
	else
		advance(out, c.header.len);
}

/* Installs received files as descriptors. */
static void write_rights(struct control *out, const struct rights *r, bool cloexec)
{
	struct cmsghdr c = { .level = SOL_SOCKET, .type = SCM_RIGHTS };
	u32 room = out->left > sizeof c ? (out->left - sizeof c) / sizeof(s32) : 0, given = 0;

	while (given < r->count && given < room) {
		s32 fd = fd_add(file_get(r->file[given]), cloexec);

		if (fd < 0)
			break;
		if (put_user(fd, (s32 *)(out->at + sizeof c) + given)) {
			fd_close(fd);
			break;
		}
		given++;
	}
	if (given < r->count)
		out->flags |= MSG_CTRUNC;
	if (!given)
		return;
	c.len = sizeof c + given * sizeof(s32);
	if (copy_to_user((void *)out->at, &c, sizeof c))
		out->flags |= MSG_CTRUNC;
	advance(out, c.len);
}

/* Tells what came with a message; MSG_CTRUNC where there was no room. */
static u32 write_control(const struct socket *s, struct msghdr *h, const struct message *m)
{
	struct control out = { .at = h->control, .left = h->control ? h->control_len : 0 };

	if (s->family == AF_UNIX && socket_option(s, SO_PASSCRED))
		write_cred(&out, &m->sender);
	if (m->rights)
		write_rights(&out, m->rights, m->flags & MSG_CMSG_CLOEXEC);
	h->control_len = out.at - h->control;
	return out.flags;
}

static long send_message(struct file *f, struct socket *s, struct message *m)
{
	long n;

	m->nonblock = f->flags & O_NONBLOCK || m->flags & MSG_DONTWAIT;
	if (m->flags & MSG_OOB && (s->type != SOCK_STREAM || (s->family == AF_UNIX && !m->data->left)))
		n = -EOPNOTSUPP;
	else
		n = s->ops->send(s, m);
	if (m->rights)
		rights_free(m->rights);
	return n;
}

static long receive_message(struct file *f, struct socket *s, struct message *m)
{
	if (m->flags & MSG_OOB)
		return s->type == SOCK_STREAM ? stream_receive_urgent(s, m) :
		       s->family == AF_INET   ? -EINVAL : -EOPNOTSUPP;
	if (m->flags & MSG_ERRQUEUE)
		return -EAGAIN;		/* nothing ever queues there */
	m->nonblock = f->flags & O_NONBLOCK || m->flags & MSG_DONTWAIT;
	return s->ops->receive(s, m);
}

long sys_sendto(int fd, const void *buffer, size_t size, u32 flags, const struct sockaddr *user, u32 len)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = &a };
	long result = 0;

	if (IS_ERR(f))
		return PTR_ERR(f);
	if (!user_range_ok(buffer, size))
		result = -EFAULT;
	else if (user)
		result = address_from_user(&a, user, len);
	if (!result) {
		iter_init(&it, (void *)(uintptr_t)buffer, MIN(size, (size_t)TRANSFER_MAX), false);
		result = send_message(f, s, &m);
	}
	file_put(f);
	return result;
}

long sys_send(int fd, const void *buffer, size_t size, u32 flags)
{
	return sys_sendto(fd, buffer, size, flags, NULL, 0);
}

long sys_recvfrom(int fd, void *buffer, size_t size, u32 flags, struct sockaddr *user, u32 *len)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = user ? &a : NULL };
	long result;

	if (IS_ERR(f))
		return PTR_ERR(f);
	if (!user_range_ok(buffer, size)) {
		result = -EFAULT;
	} else {
		iter_init(&it, buffer, MIN(size, (size_t)TRANSFER_MAX), false);
		result = receive_message(f, s, &m);
		if (m.rights)
			rights_free(m.rights);
		if (result >= 0 && user && address_to_user(&a, user, len))
			result = -EFAULT;
	}
	file_put(f);
	return result;
}

long sys_recv(int fd, void *buffer, size_t size, u32 flags)
{
	return sys_recvfrom(fd, buffer, size, flags, NULL, NULL);
}

static long load_vector(struct user_vector *vector, const struct msghdr *h, struct iter *it)
{
	if (h->vector_len > IOV_MAX)
		return -EMSGSIZE;
	return user_vector_load(vector, (const struct iovec *)h->vector, h->vector_len, it);
}

static long sendmsg_on(struct file *f, struct socket *s, const struct msghdr *h, u32 flags)
{
	struct user_vector vector;
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = &a };
	struct ucred cred;
	long result = 0;

	if (h->name && h->name_len)
		result = address_from_user(&a, (const void *)h->name, h->name_len);
	if (result)
		return result;
	result = load_vector(&vector, h, &it);
	if (result)
		return result;
	result = read_control(s, h, &m, &cred);
	if (!result)
		result = send_message(f, s, &m);
	user_vector_free(&vector);
	return result;
}

static long sendmsg_from(struct file *f, struct socket *s, struct msghdr *user, u32 flags)
{
	struct msghdr h;

	return copy_from_user(&h, user, sizeof h) ? -EFAULT : sendmsg_on(f, s, &h, flags);
}

static long recvmsg_on(struct file *f, struct socket *s, struct msghdr *h, u32 flags)
{
	struct user_vector vector;
	struct address a = { .len = 0 };
	struct iter it;
	struct message m = { .data = &it, .flags = flags, .address = &a };
	long result;

	if ((s32)h->name_len < 0)
		return -EINVAL;
	result = load_vector(&vector, h, &it);
	if (result)
		return result;
	result = receive_message(f, s, &m);
	user_vector_free(&vector);
	if (result >= 0) {
		h->flags = m.out_flags | write_control(s, h, &m);
		if (h->name && copy_to_user((void *)h->name, a.bytes, MIN(h->name_len, a.len)))
			result = -EFAULT;
		h->name_len = h->name ? a.len : h->name_len;
	}
	if (m.rights)
		rights_free(m.rights);
	return result;
}

static long recvmsg_to(struct file *f, struct socket *s, struct msghdr *user, u32 flags)
{
	struct msghdr h;
	long result;

	if (copy_from_user(&h, user, sizeof h))
		return -EFAULT;
	result = recvmsg_on(f, s, &h, flags);
	return result >= 0 && copy_to_user(user, &h, sizeof h) ? -EFAULT : result;
}

/* sendmsg_from or recvmsg_to, for the message whose header lies at `user`. */
typedef long message_call(struct file *f, struct socket *s, struct msghdr *user, u32 flags);

static long one_message(int fd, struct msghdr *user, u32 flags, message_call *call)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	long result;

	if (IS_ERR(f))
		return PTR_ERR(f);
	result = call(f, s, user, flags);
	file_put(f);
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

#define MESSAGES_MAX 1024u	/* in one call; more are left for the next */

/* A receiver's deadline is looked at after each message: a wait for one goes on beyond it, as on Linux. */
static long many_messages(int fd, struct mmsghdr *user, u32 count, u32 flags, message_call *call, u64 deadline)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	bool first_only = call == recvmsg_to && flags & MSG_WAITFORONE;
	u32 done = 0;
	long result = 0;

	if (IS_ERR(f))
		return PTR_ERR(f);
	while (done < MIN(count, MESSAGES_MAX)) {
		result = call(f, s, &user[done].header, flags & ~MSG_WAITFORONE);
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
	/* An error of receiving after the first message is the next call's. */
	if (call == recvmsg_to && done && result < 0 && result != -EAGAIN && result != -ERESTARTSYS &&
	    result != -EFAULT)
		s->error = (s32)-result;
	file_put(f);
	return done ? (long)done : result;
}

long sys_sendmmsg(int fd, struct mmsghdr *user, u32 count, u32 flags)
{
	return many_messages(fd, user, count, flags, sendmsg_from, TIME_NEVER);
}

static long receive_until(int fd, struct mmsghdr *user, u32 count, u32 flags, void *timeout, enum timeout_form form)
{
	struct timeout t;
	long result = timeout_load(&t, timeout, form);

	if (result)
		return result;
	result = many_messages(fd, user, count, flags, recvmsg_to, t.deadline);
	timeout_store(&t);
	return result;
}

long sys_recvmmsg(int fd, struct mmsghdr *user, u32 count, u32 flags, struct timespec32 *timeout)
{
	return receive_until(fd, user, count, flags, timeout, TIMESPEC32);
}

long sys_recvmmsg_time64(int fd, struct mmsghdr *user, u32 count, u32 flags, struct timespec64 *timeout)
{
	return receive_until(fd, user, count, flags, timeout, TIMESPEC64);
}
