/* Sending and receiving: send, sendto, sendmsg and their counterparts. */
#include "socket_calls.h"

#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <proc.h>
#include <syscall.h>
#include <uaccess.h>

#define SCM_RIGHTS 1
#define CONTROL_MAX 4096u

/* struct msghdr and struct cmsghdr of a 32-bit program. */
struct msghdr {
	u32 name;
	u32 name_len;
	u32 vector, vector_len;
	u32 control, control_len;
	u32 flags;
};

struct cmsghdr {
	u32 len;
	s32 level, type;
};

#define CMSG_ALIGN(n) ALIGN_UP(n, 4u)

void rights_free(struct rights *r)
{
	for (u32 i = 0; i < r->count; i++)
		file_put(r->file[i]);
	kfree(r);
}

static long take_fds(const s32 *fds, u32 count, struct rights **out)
{
	struct rights *r;

	if (*out || count == 0 || count > RIGHTS_MAX)
		return -EINVAL;
	r = kzalloc(sizeof *r + count * sizeof r->file[0]);
	if (!r)
		return -ENOMEM;
	list_init(&r->link);
	for (u32 i = 0; i < count; i++) {
		r->file[i] = fd_get(fds[i]);
		if (!r->file[i]) {
			rights_free(r);
			return -EBADF;
		}
		r->count++;
	}
	*out = r;
	return 0;
}

/* The ancillary data of a send: descriptors to pass. */
static long read_control(const struct socket *s, const struct msghdr *h, struct rights **rights)
{
	u8 *control;
	u32 at = 0;
	long result = 0;

	*rights = NULL;
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
		else if (c->level == SOL_SOCKET && s->family == AF_UNIX) {
			if (c->type != SCM_RIGHTS)
				result = -EINVAL;
			else
				result = take_fds((const s32 *)(c + 1), (c->len - sizeof *c) / sizeof(s32), rights);
		}
		if (!result)
			at += CMSG_ALIGN(c->len);
	}
	kfree(control);
	if (result && *rights) {
		rights_free(*rights);
		*rights = NULL;
	}
	return result;
}

/* Installs received files as descriptors and describes them; sets MSG_CTRUNC where there is no room. */
static u32 write_control(struct msghdr *h, struct message *m)
{
	struct rights *r = m->rights;
	struct cmsghdr c = { .level = SOL_SOCKET, .type = SCM_RIGHTS };
	u32 room, given = 0, flags = 0;

	if (!r) {
		h->control_len = 0;
		return 0;
	}
	room = h->control_len > sizeof c ? (h->control_len - sizeof c) / sizeof(s32) : 0;
	while (given < r->count && given < room) {
		struct file *f = r->file[given];
		s32 fd = fd_add(file_get(f), m->flags & MSG_CMSG_CLOEXEC);

		if (fd < 0) {
			file_put(f);
			break;
		}
		if (put_user(fd, (s32 *)(h->control + sizeof c) + given)) {
			fd_close(fd);
			break;
		}
		given++;
	}
	if (given < r->count)
		flags = MSG_CTRUNC;
	c.len = sizeof c + given * sizeof(s32);
	if (given && copy_to_user((void *)h->control, &c, sizeof c))
		flags = MSG_CTRUNC;
	h->control_len = given ? MIN(CMSG_ALIGN(c.len), h->control_len) : 0;
	return flags;
}

static long send_message(struct file *f, struct socket *s, struct message *m)
{
	long n;

	if (m->flags & MSG_OOB)
		return -EOPNOTSUPP;
	m->nonblock = f->flags & O_NONBLOCK || m->flags & MSG_DONTWAIT;
	n = s->ops->send(s, m);
	if (m->rights)
		rights_free(m->rights);
	return n;
}

static long receive_message(struct file *f, struct socket *s, struct message *m)
{
	if (m->flags & MSG_OOB)
		return s->family == AF_INET ? -EINVAL : -EOPNOTSUPP;
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
	long result = 0;

	if (h->name && h->name_len)
		result = address_from_user(&a, (const void *)h->name, h->name_len);
	if (result)
		return result;
	result = load_vector(&vector, h, &it);
	if (result)
		return result;
	result = read_control(s, h, &m.rights);
	if (!result)
		result = send_message(f, s, &m);
	user_vector_free(&vector);
	return result;
}

long sys_sendmsg(int fd, const struct msghdr *user, u32 flags)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct msghdr h;
	long result = -EFAULT;

	if (IS_ERR(f))
		return PTR_ERR(f);
	if (!copy_from_user(&h, user, sizeof h))
		result = sendmsg_on(f, s, &h, flags);
	file_put(f);
	return result;
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
		h->flags = m.out_flags | write_control(h, &m);
		if (h->name && copy_to_user((void *)h->name, a.bytes, MIN(h->name_len, a.len)))
			result = -EFAULT;
		h->name_len = h->name ? a.len : h->name_len;
	}
	if (m.rights)
		rights_free(m.rights);
	return result;
}

long sys_recvmsg(int fd, struct msghdr *user, u32 flags)
{
	struct socket *s;
	struct file *f = socket_from_fd(fd, &s);
	struct msghdr h;
	long result = -EFAULT;

	if (IS_ERR(f))
		return PTR_ERR(f);
	if (!copy_from_user(&h, user, sizeof h)) {
		result = recvmsg_on(f, s, &h, flags);
		if (result >= 0 && copy_to_user(user, &h, sizeof h))
			result = -EFAULT;
	}
	file_put(f);
	return result;
}

enum {
	CALL_SOCKET = 1, CALL_BIND, CALL_CONNECT, CALL_LISTEN, CALL_ACCEPT, CALL_GETSOCKNAME, CALL_GETPEERNAME,
	CALL_SOCKETPAIR, CALL_SEND, CALL_RECV, CALL_SENDTO, CALL_RECVFROM, CALL_SHUTDOWN, CALL_SETSOCKOPT,
	CALL_GETSOCKOPT, CALL_SENDMSG, CALL_RECVMSG, CALL_ACCEPT4,
};

/* The older entry to all of these, with the arguments in memory. */
long sys_socketcall(int call, const u32 *user)
{
	static const u8 count[] = { 0, 3, 3, 3, 2, 3, 3, 3, 4, 4, 4, 6, 6, 2, 5, 5, 3, 3, 4 };
	u32 a[6];

	if (call < CALL_SOCKET || call > CALL_ACCEPT4)
		return -EINVAL;
	if (copy_from_user(a, user, count[call] * sizeof a[0]))
		return -EFAULT;
	switch (call) {
	case CALL_SOCKET:
		return sys_socket((int)a[0], (int)a[1], (int)a[2]);
	case CALL_BIND:
		return sys_bind((int)a[0], (const void *)a[1], a[2]);
	case CALL_CONNECT:
		return sys_connect((int)a[0], (const void *)a[1], a[2]);
	case CALL_LISTEN:
		return sys_listen((int)a[0], (int)a[1]);
	case CALL_ACCEPT:
		return sys_accept((int)a[0], (void *)a[1], (u32 *)a[2]);
	case CALL_GETSOCKNAME:
		return sys_getsockname((int)a[0], (void *)a[1], (u32 *)a[2]);
	case CALL_GETPEERNAME:
		return sys_getpeername((int)a[0], (void *)a[1], (u32 *)a[2]);
	case CALL_SOCKETPAIR:
		return sys_socketpair((int)a[0], (int)a[1], (int)a[2], (s32 *)a[3]);
	case CALL_SEND:
		return sys_send((int)a[0], (const void *)a[1], a[2], a[3]);
	case CALL_RECV:
		return sys_recv((int)a[0], (void *)a[1], a[2], a[3]);
	case CALL_SENDTO:
		return sys_sendto((int)a[0], (const void *)a[1], a[2], a[3], (const void *)a[4], a[5]);
	case CALL_RECVFROM:
		return sys_recvfrom((int)a[0], (void *)a[1], a[2], a[3], (void *)a[4], (u32 *)a[5]);
	case CALL_SHUTDOWN:
		return sys_shutdown((int)a[0], (int)a[1]);
	case CALL_SETSOCKOPT:
		return sys_setsockopt((int)a[0], (int)a[1], (int)a[2], (const void *)a[3], a[4]);
	case CALL_GETSOCKOPT:
		return sys_getsockopt((int)a[0], (int)a[1], (int)a[2], (void *)a[3], (u32 *)a[4]);
	case CALL_SENDMSG:
		return sys_sendmsg((int)a[0], (const void *)a[1], a[2]);
	case CALL_RECVMSG:
		return sys_recvmsg((int)a[0], (void *)a[1], a[2]);
	default:
		return sys_accept4((int)a[0], (void *)a[1], (u32 *)a[2], a[3]);
	}
}
