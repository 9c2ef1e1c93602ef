/* setsockopt and getsockopt (socket(7), tcp(7), ip(7); numbers: abi/socket_option.h). */
#include "socket_calls.h"

#include <abi/socket.h>
#include <abi/socket_option.h>
#include <err.h>
#include <lib.h>
#include <syscall.h>
#include <uaccess.h>

#define TCP_OPTION_MAX 31
#define LOOPBACK_SEGMENT 65483	/* bytes: what Linux's loopback device allows */
#define BUFFER_MIN 2048u
#define BUFFER_MAX 425984u	/* what getsockopt shows at most: twice Linux's net.core.wmem_max */

struct old_timeval { s32 sec, usec; };
struct new_timeval { s64 sec, usec; };

static long set_timeout(u64 *timeout, const void *user, u32 size, bool wide)
{
	struct new_timeval tv;

	if (wide) {
		if (size < sizeof(tv))
			return -EINVAL;
		if (copy_from_user(&tv, user, sizeof(tv)))
			return -EFAULT;
	} else {
		struct old_timeval old;

		if (size < sizeof(old))
			return -EINVAL;
		if (copy_from_user(&old, user, sizeof(old)))
			return -EFAULT;
		tv = (struct new_timeval){ old.sec, old.usec };
	}
	if (tv.usec < 0 || tv.usec >= 1000000)
		return -EDOM;
	/* Longer than the clock counts: for ever. */
	if (tv.sec < 0 || (u64)tv.sec >= TIME_NEVER / NSEC_PER_SEC)
		*timeout = 0;
	else
		*timeout = (u64)tv.sec * NSEC_PER_SEC + (u64)tv.usec * NSEC_PER_USEC;
	return 0;
}

static long set_socket_option(struct socket *socket, int option, const void *user, u32 size)
{
	s32 value;

	switch (option) {
	case SO_RCVTIMEO:
	case SO_RCVTIMEO_NEW:
		return set_timeout(&socket->receive_timeout, user, size, option == SO_RCVTIMEO_NEW);
	case SO_SNDTIMEO:
	case SO_SNDTIMEO_NEW:
		return set_timeout(&socket->send_timeout, user, size, option == SO_SNDTIMEO_NEW);
	case SO_LINGER:
		if (size < sizeof(socket->linger))
			return -EINVAL;
		return copy_from_user(socket->linger, user, sizeof(socket->linger));
	}
	if (size < sizeof(value))
		return -EINVAL;
	if (get_user(value, (const s32 *)user))
		return -EFAULT;
	switch (option) {
	case SO_DEBUG:
	case SO_REUSEADDR:
	case SO_DONTROUTE:
	case SO_BROADCAST:
	case SO_KEEPALIVE:
	case SO_OOBINLINE:
	case SO_REUSEPORT:
	case SO_PASSCRED:
		socket->options = value ? socket->options | 1u << option : socket->options & ~(1u << option);
		return 0;
	case SO_SNDBUF:
	case SO_SNDBUFFORCE:
	case SO_RCVBUF:
	case SO_RCVBUFFORCE:
		/* Linux doubles the value for its own book-keeping, and reports that. */
		socket->buffer[option == SO_RCVBUF || option == SO_RCVBUFFORCE] =
			MAX(BUFFER_MIN, MIN((u32)value, BUFFER_MAX / 2) * 2);
		return 0;
	case SO_PRIORITY:
	case SO_RCVLOWAT:
		return 0;
	case SO_TYPE:
	case SO_ERROR:
	case SO_PROTOCOL:
	case SO_DOMAIN:
	case SO_ACCEPTCONN:
	case SO_PEERCRED:
	case SO_SNDLOWAT:
		return -ENOPROTOOPT;
	}
	return -ENOPROTOOPT;
}

/* Options without effect on transports without packets are stored to be read back. */
static long set_protocol_option(struct socket *socket, int level, int option, const void *user, u32 size)
{
	s32 value;

	if (socket->family != AF_INET)
		return level == IPPROTO_IP || level == IPPROTO_TCP ? -EOPNOTSUPP : -ENOPROTOOPT;
	if (level == IPPROTO_TCP ? socket->type != SOCK_STREAM : level != IPPROTO_IP)
		return -ENOPROTOOPT;
	if (option <= 0 || option > TCP_OPTION_MAX)
		return -ENOPROTOOPT;
	if (size < sizeof(value))
		return -EINVAL;
	if (get_user(value, (const s32 *)user))
		return -EFAULT;
	if (level == IPPROTO_TCP && option == TCP_NODELAY)
		socket->nodelay = value != 0;
	return 0;
}

long sys_setsockopt(int fd, int level, int option, const void *user, u32 size)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	long result;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if ((s32)size < 0)
		result = -EINVAL;
	else if (level == SOL_SOCKET)
		result = set_socket_option(socket, option, user, size);
	else
		result = set_protocol_option(socket, level, option, user, size);
	file_put(file);
	return result;
}

union value {
	s32 number;
	u32 linger[2];
	struct old_timeval old;
	struct new_timeval new;
	struct ucred cred;
};

static u32 timeout_value(union value *v, u64 timeout, bool wide)
{
	if (wide) {
		v->new.sec = (s64)(timeout / NSEC_PER_SEC);
		v->new.usec = (s64)(timeout % NSEC_PER_SEC / NSEC_PER_USEC);
		return sizeof(v->new);
	}
	v->old.sec = (s32)(timeout / NSEC_PER_SEC);
	v->old.usec = (s32)(timeout % NSEC_PER_SEC / NSEC_PER_USEC);
	return sizeof(v->old);
}

/* The size of the value, or a negative errno. */
static long get_socket_option(struct socket *socket, int option, union value *v)
{
	switch (option) {
	case SO_DEBUG:
	case SO_REUSEADDR:
	case SO_DONTROUTE:
	case SO_BROADCAST:
	case SO_KEEPALIVE:
	case SO_OOBINLINE:
	case SO_REUSEPORT:
	case SO_PASSCRED:
		v->number = socket_option(socket, (unsigned)option);
		break;
	case SO_TYPE:
		v->number = socket->type;
		break;
	case SO_ERROR:
		v->number = (s32)-socket_error(socket);
		break;
	case SO_SNDBUF:
		v->number = (s32)socket->buffer[0];
		break;
	case SO_RCVBUF:
		v->number = (s32)socket->buffer[1];
		break;
	case SO_PRIORITY:
		v->number = 0;
		break;
	case SO_RCVLOWAT:
	case SO_SNDLOWAT:
		v->number = 1;
		break;
	case SO_ACCEPTCONN:
		v->number = socket->listening;
		break;
	case SO_PROTOCOL:
		v->number = socket->protocol;
		break;
	case SO_DOMAIN:
		v->number = socket->family;
		break;
	case SO_LINGER:
		memcpy(v->linger, socket->linger, sizeof(v->linger));
		return sizeof(v->linger);
	case SO_RCVTIMEO:
	case SO_RCVTIMEO_NEW:
		return (long)timeout_value(v, socket->receive_timeout, option == SO_RCVTIMEO_NEW);
	case SO_SNDTIMEO:
	case SO_SNDTIMEO_NEW:
		return (long)timeout_value(v, socket->send_timeout, option == SO_SNDTIMEO_NEW);
	case SO_PEERCRED:
		v->cred = socket->peer;
		return sizeof(v->cred);
	default:
		return -ENOPROTOOPT;
	}
	return sizeof(v->number);
}

static long get_protocol_option(const struct socket *socket, int level, int option, union value *v)
{
	if (socket->family != AF_INET)
		return -EOPNOTSUPP;
	if (level == IPPROTO_TCP ? socket->type != SOCK_STREAM : level != IPPROTO_IP)
		return -ENOPROTOOPT;
	if (option <= 0 || option > TCP_OPTION_MAX)
		return -ENOPROTOOPT;
	v->number = 0;
	if (level == IPPROTO_TCP && option == TCP_NODELAY)
		v->number = socket->nodelay;
	else if (level == IPPROTO_TCP && option == TCP_MAXSEG)
		v->number = LOOPBACK_SEGMENT;
	return sizeof(v->number);
}

long sys_getsockopt(int fd, int level, int option, void *user, u32 *user_size)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	union value v;
	u32 room;
	long size;

	if (IS_ERR(file))
		return PTR_ERR(file);
	if (get_user(room, user_size)) {
		size = -EFAULT;
	} else if ((s32)room < 0) {
		size = -EINVAL;
	} else {
		size = level == SOL_SOCKET ? get_socket_option(socket, option, &v) :
			get_protocol_option(socket, level, option, &v);
		if (size >= 0) {
			room = MIN(room, (u32)size);
			size = copy_to_user(user, &v, room) || put_user(room, user_size) ? -EFAULT : 0;
		}
	}
	file_put(file);
	return size;
}
