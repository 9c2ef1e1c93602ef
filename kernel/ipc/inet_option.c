/*
 * Options of IP, TCP and UDP-Lite (ip(7), tcp(7), udplite(7)). An option is here if its effect is, or if it can have
 * none without packets: then it is checked, stored and reported as on Linux. All others are unknown (ENOPROTOOPT).
 */
#include <abi/socket.h>
#include <lib.h>
#include <uaccess.h>

#include "inet.h"

#define MTU_MOST 65535          /* of the device's 65536, what a packet can have */
#define SEGMENT_UNCONNECTED 536
#define SEGMENT_LOOPBACK 65483  /* the MTU without the headers and the option of timestamps */
#define SEGMENT_LEAST 88
#define SEGMENT_OPTION 12       /* bytes of the option of timestamps */
#define SEGMENT_MOST 32767
#define TTL_INITIAL 64
#define TTL_DEFAULT (-1)
#define TOS_CONGESTION 3        /* bits that TCP uses itself */
#define FIN_TIMEOUT 60          /* s */
#define FIN_TIMEOUT_MOST 120
#define COVERAGE_LEAST 8                /* bytes of a header of UDP */
#define COVERAGE_MOST 65535
#define ANY_NUMBER (-0x7fffffff - 1), 0x7fffffff
#define CONGESTION_NAME 16      /* bytes */
#define RTO_INITIAL 1000000     /* us */
#define CONGESTION_WINDOW 10
#define SEGMENT_GUESS 536

/* `on_off`: any value but 0 is 1. */
static const struct inet_row {
	u8 level, option;
	bool on_off;
	s32 least, most, initial;
} option_rows[INET_SLOTS] = {
	[TOS] = { IPPROTO_IP, IP_TOS, false, ANY_NUMBER, 0 },
	[TTL] = { IPPROTO_IP, IP_TTL, false, TTL_DEFAULT, 255, TTL_DEFAULT },
	[WANT_PKTINFO] = { IPPROTO_IP, IP_PKTINFO, true, ANY_NUMBER, 0 },
	[WANT_TTL] = { IPPROTO_IP, IP_RECVTTL, true, ANY_NUMBER, 0 },
	[WANT_TOS] = { IPPROTO_IP, IP_RECVTOS, true, ANY_NUMBER, 0 },
	[WANT_ERRORS] = { IPPROTO_IP, IP_RECVERR, true, ANY_NUMBER, 0 },
	[FREEBIND] = { IPPROTO_IP, IP_FREEBIND, true, ANY_NUMBER, 0 },
	[LATE_PORT] = { IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, true, ANY_NUMBER, 0 },
	[MTU_DISCOVER] = { IPPROTO_IP, IP_MTU_DISCOVER, false, 0, 5, 1 },
	[NODELAY] = { IPPROTO_TCP, TCP_NODELAY, true, ANY_NUMBER, 0 },
	[CORK] = { IPPROTO_TCP, TCP_CORK, true, ANY_NUMBER, 0 },
	[QUICKACK] = { IPPROTO_TCP, TCP_QUICKACK, true, ANY_NUMBER, 1 },
	[MAXSEG] = { IPPROTO_TCP, TCP_MAXSEG, false, 0, SEGMENT_MOST, 0 },
	[KEEPIDLE] = { IPPROTO_TCP, TCP_KEEPIDLE, false, 1, 32767, 7200 },
	[KEEPINTVL] = { IPPROTO_TCP, TCP_KEEPINTVL, false, 1, 32767, 75 },
	[KEEPCNT] = { IPPROTO_TCP, TCP_KEEPCNT, false, 1, 127, 9 },
	[SYNCNT] = { IPPROTO_TCP, TCP_SYNCNT, false, 1, 127, 6 },
	[LINGER2] = { IPPROTO_TCP, TCP_LINGER2, false, ANY_NUMBER, FIN_TIMEOUT },
	[USER_TIMEOUT] = { IPPROTO_TCP, TCP_USER_TIMEOUT, false, 0, 0x7fffffff, 0 },
	[SEND_COVERAGE] = { IPPROTO_UDPLITE, UDPLITE_SEND_CSCOV, false, ANY_NUMBER, COVERAGE_UNSET },
	[RECEIVE_COVERAGE] = { IPPROTO_UDPLITE, UDPLITE_RECV_CSCOV, false, ANY_NUMBER, COVERAGE_UNSET },
};

s32 inet_option(const struct inet_socket *inet, enum inet_slot slot)
{
	s32 value = inet->option[slot] + option_rows[slot].initial;

	return slot == TTL && value == TTL_DEFAULT ? TTL_INITIAL : value;
}

static int find_slot(int level, int option)
{
	for (int slot = 0; slot < INET_SLOTS; slot++)
		if (option_rows[slot].level == level && option_rows[slot].option == option)
			return slot;
	return -ENOPROTOOPT;
}

/* Options of IP may be a byte, or empty for 0. */
static long ip_number(s32 *value, const void *user, u32 size)
{
	u8 byte = 0;

	if (size >= sizeof(*value))
		return option_number(value, user, size);
	if (size && get_user(byte, (const u8 *)user))
		return -EFAULT;
	*value = byte;
	return 0;
}

static bool is_coverage(enum inet_slot slot)
{
	return slot == SEND_COVERAGE || slot == RECEIVE_COVERAGE;
}

static long store_option(struct inet_socket *inet, enum inet_slot slot, s32 value)
{
	const struct inet_row *row = &option_rows[slot];

	if (value < row->least || value > row->most || (slot == TTL && value == 0))
		return -EINVAL;
	if (slot == MAXSEG && value && value < SEGMENT_LEAST)
		return -EINVAL;
	if (row->on_off)
		value = value != 0;
	else if (slot == TOS && inet->socket->type == SOCK_STREAM)
		value = (value & 0xff & ~TOS_CONGESTION) | (inet_option(inet, TOS) & TOS_CONGESTION);
	else if (slot == TOS)
		value &= 0xff;
	else if (slot == LINGER2)
		value = value < 0 ? -1 : value == 0 ? FIN_TIMEOUT : MIN(value, FIN_TIMEOUT_MOST);
	else if (is_coverage(slot) && value)
		value = MAX(COVERAGE_LEAST, MIN(value, COVERAGE_MOST));
	inet->option[slot] = value - row->initial;
	if (slot == CORK)
		inet->socket->corked = value;
	if ((slot == CORK && !value) || (slot == NODELAY && value))
		tcp_push(inet->socket);
	if (slot == WANT_ERRORS && !value)
		datagram_drop_all(&inet->errors);
	return 0;
}

static long set_congestion(struct inet_socket *inet, const void *user, u32 size)
{
	char name[CONGESTION_NAME] = { 0 };

	if (size < 1)
		return -EINVAL;
	if (copy_from_user(name, user, MIN(size, (u32)sizeof(name) - 1)))
		return -EFAULT;
	if (strcmp(name, "reno") && strcmp(name, "cubic"))
		return -ENOENT;
	inet->reno = !strcmp(name, "reno");
	return 0;
}

static bool has_level(const struct socket *socket, int level)
{
	return level == IPPROTO_IP || (level == socket->protocol && level != IPPROTO_UDP);
}

long inet_set_option(struct socket *socket, int level, int option, const void *user, u32 size)
{
	int slot = find_slot(level, option);
	s32 value;
	long error;

	if (!has_level(socket, level))
		return -ENOPROTOOPT;
	if (level == IPPROTO_TCP && option == TCP_CONGESTION)
		return set_congestion(inet_of(socket), user, size);
	if (level == IPPROTO_IP)
		error = slot < 0 ? slot : ip_number(&value, user, size);
	else
		error = option_number(&value, user, size);
	if (error)
		return error;
	if (slot == FREEBIND && !size)
		return -EINVAL;
	return slot < 0 ? slot : store_option(inet_of(socket), (enum inet_slot)slot, value);
}

static s32 segment_size(const struct socket *socket)
{
	s32 asked = socket->connection ? inet_of(socket)->segment : inet_option(inet_of(socket), MAXSEG);
	u8 state = tcp_state(socket);

	if (asked && (state == TCP_CLOSE || state == TCP_LISTEN))
		return asked;
	if (state == TCP_CLOSE || state == TCP_LISTEN || state == TCP_SYN_SENT)
		return SEGMENT_UNCONNECTED;
	return asked ? asked - SEGMENT_OPTION : SEGMENT_LOOPBACK;
}

u32 tcp_segment_size(const struct socket *socket)
{
	return (u32)segment_size(socket);
}

/* What is true without packets; the rest is 0. */
static long give_info(const struct socket *socket, union option_value *v)
{
	struct tcp_info info = { .state = tcp_state(socket), .rto = RTO_INITIAL, .snd_cwnd = CONGESTION_WINDOW };

	info.snd_mss = (u32)segment_size(socket);
	info.rcv_mss = socket->connection ? info.snd_mss : SEGMENT_GUESS;
	info.advmss = info.snd_mss;
	info.pmtu = socket->connection ? MTU_MOST : 0;
	if (socket->listening) {
		info.unacked = socket->pending_count;
		info.sacked = socket->backlog - 1;
	}
	_Static_assert(sizeof(info) == sizeof(v->bytes), "the value holds the structure");
	memcpy(v->bytes, &info, sizeof(info));
	return sizeof(info);
}

static long give_congestion(const struct inet_socket *inet, union option_value *v)
{
	static const char names[2][CONGESTION_NAME] = { "cubic", "reno" };

	memcpy(v->bytes, names[inet->reno], CONGESTION_NAME);
	return CONGESTION_NAME;
}

static long give_mtu(const struct socket *socket, union option_value *v)
{
	bool connected = socket->type == SOCK_STREAM ? socket->connection != NULL : inet_of(socket)->peer.address != 0;

	v->number = MTU_MOST;
	return connected ? (long)sizeof(v->number) : -ENOTCONN;
}

long inet_get_option(struct socket *socket, int level, int option, union option_value *v)
{
	struct inet_socket *inet = inet_of(socket);
	int slot;

	/* Linux has options of these two levels on UDP sockets. */
	if (!has_level(socket, level))
		return socket->type == SOCK_DGRAM && (level == IPPROTO_UDP || level == IPPROTO_UDPLITE) ?
		       -ENOPROTOOPT : -EOPNOTSUPP;
	if (level == IPPROTO_IP && option == IP_MTU)
		return give_mtu(socket, v);
	if (level == IPPROTO_TCP && option == TCP_INFO)
		return give_info(socket, v);
	if (level == IPPROTO_TCP && option == TCP_CONGESTION)
		return give_congestion(inet, v);
	slot = find_slot(level, option);
	if (slot < 0)
		return slot;
	v->number = slot == MAXSEG ? segment_size(socket) : inet_option(inet, (enum inet_slot)slot);
	if (is_coverage((enum inet_slot)slot))
		v->number = MAX(v->number, 0);
	return sizeof(v->number);
}
