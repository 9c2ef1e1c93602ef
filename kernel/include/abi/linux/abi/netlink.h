/* Netlink: uapi linux/netlink.h, rtnetlink.h, if_link.h, if_addr.h. */
#ifndef ABI_NETLINK_H
#define ABI_NETLINK_H
#include <types.h>

#define NETLINK_ROUTE 0
#define NETLINK_KOBJECT_UEVENT 15

struct sockaddr_nl {
	u16 family, pad;
	u32 port, groups;
};

struct nlmsghdr {
	u32 len;
	u16 type, flags;
	u32 sequence, port;
};
#define NLM_F_REQUEST 1u
#define NLM_F_MULTI 2u
#define NLM_F_ACK 4u
#define NLM_F_DUMP 0x300u
#define NLM_F_CAPPED 0x100u     /* of an answer: without the request's body */
#define NLMSG_ERROR 2u
#define NLMSG_DONE 3u
#define NLMSG_ALIGN(n) ALIGN_UP(n, 4u)

enum {
	RTM_BASE = 16, RTM_NEWLINK = 16, RTM_GETLINK = 18, RTM_NEWADDR = 20, RTM_GETADDR = 22, RTM_GETROUTE = 26,
	RTM_LAST = 123,
};
#define RTM_IS_GET(type) (((type) & 3) == 2)

struct ifinfomsg {
	u8 family, pad;
	u16 type;
	s32 index;
	u32 flags, change;
};

struct ifaddrmsg {
	u8 family, prefix, flags, scope;
	u32 index;
};

struct rtattr {
	u16 len, type;
};
enum {
	IFLA_ADDRESS = 1, IFLA_BROADCAST = 2, IFLA_IFNAME = 3, IFLA_MTU = 4, IFLA_QDISC = 6, IFLA_TXQLEN = 13,
	IFLA_OPERSTATE = 16, IFLA_LINKMODE = 17,
};
enum { IFA_ADDRESS = 1, IFA_LOCAL = 2, IFA_LABEL = 3, IFA_CACHEINFO = 6, IFA_FLAGS = 8 };

#define ARPHRD_LOOPBACK 772
#define IFF_LOOPBACK_UP 0x10049u        /* up, loopback, running, and its lower layer up */
#define IFA_F_PERMANENT 0x80u
#define RT_SCOPE_HOST 254

#endif
