/*
 * setsockopt and getsockopt, and the options of all sockets (socket(7); numbers: abi/socket_option.h). An option that
 * is not here is unknown (ENOPROTOOPT): none is accepted without its effect.
 */
#include <abi/socket.h>
#include <abi/socket_option.h>
#include <err.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "socket_calls.h"
#include "stream.h"

#define BUFFER_MIN 4096u
#define BUFFER_MAX 425984u      /* what getsockopt shows at most: twice Linux's net.core.wmem_max */
#define PRIORITY_MOST 6         /* that needs no privilege */
#define DEVICE_NAME 16          /* bytes of a device's name, with its end */

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
	/* A time that is longer than the clock counts means for ever. */
	if (tv.sec < 0 || (u64)tv.sec >= TIME_NEVER / NSEC_PER_SEC)
		*timeout = 0;
	else
		*timeout = (u64)tv.sec * NSEC_PER_SEC + (u64)tv.usec * NSEC_PER_USEC;
	return 0;
}

long option_number(s32 *value, const void *user, u32 size)
{
	if (size < sizeof(*value))
		return -EINVAL;
	return get_user(*value, (const s32 *)user) ? -EFAULT : 0;
}

static long set_linger(struct socket_settings *settings, const void *user, u32 size)
{
	s32 linger[2];

	if (size < sizeof(linger))
		return -EINVAL;
	if (copy_from_user(linger, user, sizeof(linger)))
		return -EFAULT;
	settings->linger = linger[0] != 0;
	if (settings->linger)
		settings->linger_seconds = (u32)linger[1];
	return 0;
}

/* A stream's low water must fit into its buffer, or its poll would never report data. Other sockets ignore it. */
static void set_low_water(struct socket *socket, s32 value)
{
	bool tcp = socket->family == AF_INET && socket->type == SOCK_STREAM;
	u32 bytes = value < 0 ? 0x7fffffff : MAX((u32)value, 1u);

	if (tcp)
		bytes = socket->poll_water = MIN(bytes, socket->settings.buffer[1] / 2);
	socket->settings.low_water = bytes;
	if (tcp)
		stream_low_water_changed(socket);
}

/* Linux doubles the value for its own book-keeping, and reports that. */
static long set_buffer(struct socket *socket, int option, s32 value)
{
	bool force = option == SO_SNDBUFFORCE || option == SO_RCVBUFFORCE;
	bool receive = option == SO_RCVBUF || option == SO_RCVBUFFORCE;

	if (force && !capable())
		return -EPERM;
	/* As on Linux a negative size is a large one, but for the superuser's form. */
	if (force)
		value = MAX(value, 0);
	socket->settings.buffer[receive] = MAX(BUFFER_MIN, MIN((u32)value, BUFFER_MAX / 2) * 2);
	if (socket->ops->fit)
		socket->ops->fit(socket);
	return 0;
}

static long set_switch(struct socket_settings *settings, int option, bool on)
{
	u32 bit = 1u << option;

	if (option == SO_DEBUG && on && !capable())
		return -EACCES;
	settings->options = on ? settings->options | bit : settings->options & ~bit;
	return 0;
}

/* SO_BINDTODEVICE: all data comes by the loopback device, so a bound socket is only preferred to an unbound one. */
static long set_device(struct socket_settings *settings, const void *user, u32 size)
{
	char name[DEVICE_NAME] = { 0 };
	bool bound = settings->options >> SO_BINDTODEVICE & 1;

	if (copy_from_user(name, user, MIN(size, (u32)sizeof(name) - 1)))
		return -EFAULT;
	if (name[0] && strcmp(name, "lo"))
		return -ENODEV;
	if (bound && !capable())
		return -EPERM;
	return set_switch(settings, SO_BINDTODEVICE, name[0] != 0);
}

static long set_socket_option(struct socket *socket, int option, const void *user, u32 size)
{
	struct socket_settings *settings = &socket->settings;
	s32 value;
	long error;

	if (option == SO_BINDTODEVICE)
		return set_device(settings, user, size);
	error = option_number(&value, user, size);
	if (error)
		return error;
	switch (option) {
	case SO_RCVTIMEO:
	case SO_RCVTIMEO_NEW:
		return set_timeout(&settings->receive_timeout, user, size, option == SO_RCVTIMEO_NEW);
	case SO_SNDTIMEO:
	case SO_SNDTIMEO_NEW:
		return set_timeout(&settings->send_timeout, user, size, option == SO_SNDTIMEO_NEW);
	case SO_LINGER:
		return set_linger(settings, user, size);
	}
	switch (option) {
	case SO_PASSCRED:
		if (socket->family == AF_INET)
			return -EOPNOTSUPP;
		return set_switch(settings, option, value != 0);
	case SO_REUSEPORT:
		if (value && socket->family != AF_INET)
			return -EOPNOTSUPP;
		return set_switch(settings, option, value != 0);
	case SO_DEBUG:
	case SO_REUSEADDR:
	case SO_DONTROUTE:
	case SO_BROADCAST:
	case SO_KEEPALIVE:
	case SO_OOBINLINE:
		return set_switch(settings, option, value != 0);
	case SO_SNDBUF:
	case SO_SNDBUFFORCE:
	case SO_RCVBUF:
	case SO_RCVBUFFORCE:
		return set_buffer(socket, option, value);
	case SO_PRIORITY:
		if ((value < 0 || value > PRIORITY_MOST) && !capable())
			return -EPERM;
		settings->priority = (u32)value;
		return 0;
	case SO_RCVLOWAT:
		set_low_water(socket, value);
		return 0;
	}
	return -ENOPROTOOPT;
}

static long set_protocol_option(struct socket *socket, int level, int option, const void *user, u32 size)
{
	if (socket->ops->set_option)
		return socket->ops->set_option(socket, level, option, user, size);
	return socket->family == AF_UNIX ? -EOPNOTSUPP : -ENOPROTOOPT;
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

static long timeout_value(union option_value *v, u64 timeout, bool wide)
{
	struct new_timeval new = { (s64)(timeout / NSEC_PER_SEC), (s64)(timeout % NSEC_PER_SEC / NSEC_PER_USEC) };
	struct old_timeval old = { (s32)new.sec, (s32)new.usec };

	if (wide)
		memcpy(v->bytes, &new, sizeof(new));
	else
		memcpy(v->bytes, &old, sizeof(old));
	return wide ? (long)sizeof(new) : (long)sizeof(old);
}

/* The size of the value, or a negative errno. */
static long get_socket_option(struct socket *socket, int option, union option_value *v)
{
	const struct socket_settings *settings = &socket->settings;

	switch (option) {
	case SO_PASSCRED:
		if (socket->family == AF_INET)
			return -EOPNOTSUPP;
		v->number = socket_option(socket, (unsigned)option);
		break;
	case SO_DEBUG:
	case SO_REUSEADDR:
	case SO_DONTROUTE:
	case SO_BROADCAST:
	case SO_KEEPALIVE:
	case SO_OOBINLINE:
	case SO_REUSEPORT:
		v->number = socket_option(socket, (unsigned)option);
		break;
	case SO_TYPE:
		v->number = socket->type;
		break;
	case SO_ERROR:
		v->number = (s32)-socket_error(socket);
		break;
	case SO_SNDBUF:
		v->number = (s32)settings->buffer[0];
		break;
	case SO_RCVBUF:
		v->number = (s32)settings->buffer[1];
		break;
	case SO_PRIORITY:
		v->number = (s32)settings->priority;
		break;
	case SO_RCVLOWAT:
		v->number = (s32)settings->low_water;
		break;
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
		v->words[0] = settings->linger;
		v->words[1] = settings->linger_seconds;
		return 2 * sizeof(v->words[0]);
	case SO_RCVTIMEO:
	case SO_RCVTIMEO_NEW:
		return timeout_value(v, settings->receive_timeout, option == SO_RCVTIMEO_NEW);
	case SO_SNDTIMEO:
	case SO_SNDTIMEO_NEW:
		return timeout_value(v, settings->send_timeout, option == SO_SNDTIMEO_NEW);
	case SO_PEERCRED:
		v->cred = socket->peer;
		return sizeof(v->cred);
	case SO_BINDTODEVICE:
		memcpy(v->bytes, "lo", sizeof("lo"));
		return socket_option(socket, SO_BINDTODEVICE) ? (long)sizeof("lo") : 0;
	default:
		return -ENOPROTOOPT;
	}
	return sizeof(v->number);
}

static long get_protocol_option(struct socket *socket, int level, int option, union option_value *v)
{
	if (socket->ops->get_option)
		return socket->ops->get_option(socket, level, option, v);
	return socket->family == AF_UNIX ? -EOPNOTSUPP : -ENOPROTOOPT;
}

/* A number of IP for which there is less room is given as a byte. */
static void shorten_number(union option_value *v, int level, u32 room, long *size)
{
	if (level == IPPROTO_IP && *size == sizeof(v->number) && room && room < sizeof(v->number) &&
	    v->number >= 0 && v->number <= 255) {
		v->bytes[0] = (u8)v->number;
		*size = 1;
	}
}

long sys_getsockopt(int fd, int level, int option, void *user, u32 *user_size)
{
	struct socket *socket;
	struct file *file = socket_from_fd(fd, &socket);
	union option_value v;
	u32 room;
	long size;

	if (IS_ERR(file))
		return PTR_ERR(file);
	/* A level that the socket does not have is reported before other errors, as on Linux. */
	size = level == SOL_SOCKET ? 0 : get_protocol_option(socket, level, option, &v);
	if (size == -EOPNOTSUPP) {
		;
	} else if (get_user(room, user_size)) {
		size = -EFAULT;
	} else if ((s32)room < 0) {
		size = -EINVAL;
	} else {
		if (level == SOL_SOCKET)
			size = get_socket_option(socket, option, &v);
		if (level == SOL_SOCKET && option == SO_BINDTODEVICE && size && room < DEVICE_NAME)
			size = -EINVAL;
		if (size >= 0) {
			shorten_number(&v, level, room, &size);
			room = MIN(room, (u32)size);
			size = copy_to_user(user, &v, room) || put_user(room, user_size) ? -EFAULT : 0;
		}
	}
	file_put(file);
	return size;
}
