/* Sockets: families, types, flags, messages (uapi linux/socket.h, un.h, in.h, tcp.h, net.h). */
#ifndef ABI_SOCKET_H
#define ABI_SOCKET_H
#include <types.h>

#define AF_UNSPEC 0
#define AF_UNIX 1
#define AF_INET 2
#define AF_NETLINK 16
#define AF_MAX 46

#define SOCK_STREAM 1
#define SOCK_DGRAM 2
#define SOCK_RAW 3
#define SOCK_SEQPACKET 5
#define SOCK_MAX 11
#define SOCK_TYPE_MASK 15

#define MSG_OOB 0x1u
#define MSG_PEEK 0x2u
#define MSG_CTRUNC 0x8u
#define MSG_TRUNC 0x20u
#define MSG_DONTWAIT 0x40u
#define MSG_WAITALL 0x100u
#define MSG_ERRQUEUE 0x2000u
#define MSG_NOSIGNAL 0x4000u
#define MSG_MORE 0x8000u
#define MSG_WAITFORONE 0x10000u
#define MSG_CMSG_CLOEXEC 0x40000000u

struct ucred {
	s32 pid;
	u32 uid, gid;
};

#define SOCK_NONBLOCK 04000u
#define SOCK_CLOEXEC 02000000u

#define SCM_RIGHTS 1
#define SCM_CREDENTIALS 2

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

struct mmsghdr {
	struct msghdr header;
	u32 size;               /* bytes sent or received */
};

#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define IPPROTO_UDPLITE 136
#define IPPROTO_MAX 263
/* Ports and addresses have the network's order of bytes, the highest first: converts from or to the machine's order. */
static inline u16 network16(u16 n) { return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? n : (u16)__builtin_bswap16(n); }
static inline u32 network32(u32 n) { return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? n : __builtin_bswap32(n); }

#define INADDR_ANY 0u
#define INADDR_LOOPBACK 0x7f000001u

struct sockaddr_in {
	u16 family;
	u16 port;       /* network order */
	u32 address;
	u8 zero[8];
};

#define IPPROTO_IP 0
enum {
	IP_TOS = 1, IP_TTL = 2, IP_PKTINFO = 8, IP_MTU_DISCOVER = 10, IP_RECVERR = 11, IP_RECVTTL = 12, IP_RECVTOS = 13,
	IP_MTU = 14, IP_FREEBIND = 15, IP_BIND_ADDRESS_NO_PORT = 24,
};
struct in_pktinfo {
	s32 interface;
	u32 local, address;     /* network order */
};

/* struct sock_extended_err (uapi linux/errqueue.h, icmp.h). */
#define ERROR_FROM_ICMP 2
#define ICMP_UNREACHABLE 3
#define ICMP_NO_PORT 3

enum {
	TCP_NODELAY = 1, TCP_MAXSEG, TCP_CORK, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_KEEPCNT, TCP_SYNCNT, TCP_LINGER2,
	TCP_INFO = 11, TCP_QUICKACK = 12, TCP_CONGESTION = 13, TCP_USER_TIMEOUT = 18,
};

enum { UDPLITE_SEND_CSCOV = 10, UDPLITE_RECV_CSCOV = 11 };

/* The oldest form of struct tcp_info. */
struct tcp_info {
	u8 state, ca_state, retransmits, probes, backoff, options, scales, limited;
	u32 rto, ato, snd_mss, rcv_mss, unacked, sacked, lost, retrans, fackets;
	u32 last_data_sent, last_ack_sent, last_data_recv, last_ack_recv;
	u32 pmtu, rcv_ssthresh, rtt, rttvar, snd_ssthresh, snd_cwnd, advmss, reordering;
	u32 rcv_rtt, rcv_space, total_retrans;
};

enum {
	CALL_SOCKET = 1, CALL_BIND, CALL_CONNECT, CALL_LISTEN, CALL_ACCEPT, CALL_GETSOCKNAME, CALL_GETPEERNAME,
	CALL_SOCKETPAIR, CALL_SEND, CALL_RECV, CALL_SENDTO, CALL_RECVFROM, CALL_SHUTDOWN, CALL_SETSOCKOPT,
	CALL_GETSOCKOPT, CALL_SENDMSG, CALL_RECVMSG, CALL_ACCEPT4, CALL_RECVMMSG, CALL_SENDMMSG,
};

#define UNIX_PATH_MAX 108u

#endif
