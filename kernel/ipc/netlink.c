/*
 * Netlink sockets (netlink(7)). They answer requests about network devices. The only device is the loopback, which
 * never changes, so a socket that waits for events of devices gets none.
 */
#include <abi/netlink.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#include "datagram.h"

#define REQUEST_MAX 8192u       /* bytes of one send */
#define ANSWER_MAX 256u         /* of one answer, without the copied request */

struct netlink_socket {
	struct list_head link;  /* sockets with ports */
	struct socket *socket;
	u32 port;               /* 0: none yet */
	u32 groups;
	struct datagram_queue queue;
};

#define BUCKETS 64u
static struct list_head netlink_buckets[BUCKETS];

static struct list_head *netlink_bucket(u32 port)
{
	struct list_head *head = &netlink_buckets[port * 2654435761u >> 26];

	if (!head->next)
		list_init(head);
	return head;
}

static const struct socket_ops netlink_ops;

static struct netlink_socket *netlink_of(const struct socket *socket)
{
	return socket->data;
}

long netlink_create(int type, int protocol, struct socket **out)
{
	struct netlink_socket *netlink;
	struct socket *socket;

	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != NETLINK_ROUTE && protocol != NETLINK_KOBJECT_UEVENT)
		return -EPROTONOSUPPORT;
	netlink = kzalloc(sizeof(*netlink));
	socket = netlink ? socket_new(AF_NETLINK, (u16)type, (u16)protocol, &netlink_ops) : NULL;
	if (!socket) {
		kfree(netlink);
		return -ENOMEM;
	}
	netlink->socket = socket;
	list_init(&netlink->link);
	datagram_init(&netlink->queue);
	socket->data = netlink;
	*out = socket;
	return 0;
}

static bool netlink_port_taken(const struct netlink_socket *wanted, u32 port)
{
	const struct netlink_socket *netlink;

	list_for_each_window(netlink, netlink_bucket(port), link)
		if (netlink != wanted && netlink->port == port && netlink->socket->protocol == wanted->socket->protocol)
			return true;
	return false;
}

static void set_port(struct netlink_socket *netlink, u32 port)
{
	list_del(&netlink->link);
	netlink->port = port;
	list_add(&netlink->link, netlink_bucket(port));
}

/* Chooses the port: the process's number, or a number of no process if another socket has the first. */
static void netlink_take_port(struct netlink_socket *netlink)
{
	static u32 next;

	u32 port = (u32)current->tgid;

	/* A process that binds many such ports slows only its own binds. */
	while (!netlink->port && netlink_port_taken(netlink, port)) {
		port = 0x80000000u | next++;
		preemption_point();
		if (signal_fatal_pending())
			return;
	}
	if (!netlink->port)
		set_port(netlink, port);
}

static long netlink_parse(const struct address *address, struct sockaddr_nl *to)
{
	if (address->len < sizeof(*to))
		return -EINVAL;
	memcpy(to, address->bytes, sizeof(*to));
	return to->family == AF_NETLINK ? 0 : -EINVAL;
}

static long netlink_bind(struct socket *socket, const struct address *address)
{
	struct netlink_socket *netlink = netlink_of(socket);
	struct sockaddr_nl wanted;
	long error = netlink_parse(address, &wanted);

	if (error)
		return error;
	if (netlink->port && wanted.port && wanted.port != netlink->port)
		return -EINVAL;
	if (wanted.port && netlink_port_taken(netlink, wanted.port))
		return -EADDRINUSE;
	if (wanted.port)
		set_port(netlink, wanted.port);
	else
		netlink_take_port(netlink);
	netlink->groups = wanted.groups;
	return 0;
}

/* Messages can be sent only to the kernel. */
static long check_destination(const struct sockaddr_nl *to)
{
	if (!to->port && !to->groups)
		return 0;
	return capable() ? -ECONNREFUSED : -EPERM;
}

static long netlink_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct sockaddr_nl to;
	long error;

	(void)nonblock;
	if (address->len >= sizeof(address->family) && address->family == AF_UNSPEC)
		return 0;
	error = netlink_parse(address, &to);
	if (!error)
		error = check_destination(&to);
	if (!error)
		netlink_take_port(netlink_of(socket));
	return error;
}

static void format_line(struct address *address, u32 port, u32 groups)
{
	struct sockaddr_nl name = { .family = AF_NETLINK, .port = port, .groups = groups };

	memcpy(address->bytes, &name, sizeof(name));
	address->len = sizeof(name);
}

static long netlink_name(struct socket *socket, struct address *address, enum socket_name which)
{
	const struct netlink_socket *netlink = netlink_of(socket);

	format_line(address, which == OWN_NAME ? netlink->port : 0, which == OWN_NAME ? netlink->groups : 0);
	return 0;
}

/* An answer under construction. Every answer fits. */
struct answer {
	u32 size;
	u8 bytes[ANSWER_MAX];
};

static void *answer_extend(struct answer *answer, u32 size)
{
	void *place = answer->bytes + answer->size;

	size = NLMSG_ALIGN(size);
	ASSERT(answer->size + size <= sizeof(answer->bytes));
	memset(place, 0, size);
	answer->size += size;
	return place;
}

static void answer_begin(struct answer *answer, const struct netlink_socket *netlink, const struct nlmsghdr *request,
			 u16 type, u16 flags)
{
	struct nlmsghdr *h;

	answer->size = 0;
	h = answer_extend(answer, sizeof(*h));
	h->type = type;
	h->flags = flags;
	h->sequence = request->sequence;
	h->port = netlink->port;
}

static void answer_attribute(struct answer *answer, u16 type, const void *data, u32 size)
{
	struct rtattr *attr = answer_extend(answer, (u32)sizeof(*attr) + size);

	attr->type = type;
	attr->len = (u16)(sizeof(*attr) + size);
	memcpy(attr + 1, data, size);
}

static void attribute_word(struct answer *answer, u16 type, u32 word)
{
	answer_attribute(answer, type, &word, sizeof(word));
}

/*
 * Adds an answer, followed by a copy of `more`, to the socket's queue. If there is no room, the answer is lost, and the
 * next receive reports an error.
 */
static void netlink_reply(struct netlink_socket *netlink, struct answer *answer, const void *more, u32 more_size)
{
	const struct iovec piece[2] = { { answer->bytes, answer->size }, { (void *)(uintptr_t)more, more_size } };
	struct nlmsghdr *h = (struct nlmsghdr *)answer->bytes;
	struct message m = { .flags = 0 };
	struct datagram *datagram;
	struct address from;
	struct iter it;

	h->len = answer->size + more_size;
	iter_init_vector(&it, piece, 2, true);
	m.data = &it;
	format_line(&from, 0, 0);
	datagram = datagram_room(&netlink->queue) ? datagram_new(&m, &from) : NULL;
	if (!datagram || IS_ERR(datagram))
		netlink->socket->error = ENOBUFS;
	else
		datagram_append(&netlink->queue, datagram, &m);
}

static void describe_link(struct netlink_socket *netlink, const struct nlmsghdr *request, u16 flags)
{
	static const u8 address[6];
	struct answer a;
	struct ifinfomsg *link;
	u8 zero = 0;

	answer_begin(&a, netlink, request, RTM_NEWLINK, flags);
	link = answer_extend(&a, sizeof(*link));
	link->type = ARPHRD_LOOPBACK;
	link->index = LOOPBACK_INDEX;
	link->flags = IFF_LOOPBACK_UP;
	answer_attribute(&a, IFLA_IFNAME, "lo", 3);
	attribute_word(&a, IFLA_TXQLEN, LOOPBACK_QUEUE);
	answer_attribute(&a, IFLA_OPERSTATE, &zero, 1);
	answer_attribute(&a, IFLA_LINKMODE, &zero, 1);
	attribute_word(&a, IFLA_MTU, LOOPBACK_MTU);
	answer_attribute(&a, IFLA_ADDRESS, address, sizeof(address));
	answer_attribute(&a, IFLA_BROADCAST, address, sizeof(address));
	answer_attribute(&a, IFLA_QDISC, "noqueue", 8);
	netlink_reply(netlink, &a, NULL, 0);
}

static void describe_address(struct netlink_socket *netlink, const struct nlmsghdr *request)
{
	static const u32 lasts[4] = { ~0u, ~0u };       /* preferred and valid for ever */
	struct answer a;
	struct ifaddrmsg *address;

	answer_begin(&a, netlink, request, RTM_NEWADDR, NLM_F_MULTI);
	address = answer_extend(&a, sizeof(*address));
	address->family = AF_INET;
	address->prefix = 8;
	address->flags = IFA_F_PERMANENT;
	address->scope = RT_SCOPE_HOST;
	address->index = LOOPBACK_INDEX;
	attribute_word(&a, IFA_ADDRESS, network32(INADDR_LOOPBACK));
	attribute_word(&a, IFA_LOCAL, network32(INADDR_LOOPBACK));
	answer_attribute(&a, IFA_LABEL, "lo", 3);
	attribute_word(&a, IFA_FLAGS, IFA_F_PERMANENT);
	answer_attribute(&a, IFA_CACHEINFO, lasts, sizeof(lasts));
	netlink_reply(netlink, &a, NULL, 0);
}

/* Answers with all objects of a kind, then with the end mark. The tables that are shown by default have no routes. */
static long netlink_dump(struct netlink_socket *netlink, const struct nlmsghdr *request)
{
	u8 family = request->len > sizeof(*request) ? *(const u8 *)(request + 1) : AF_UNSPEC;
	struct answer a;

	switch (request->type) {
	case RTM_GETLINK:
		describe_link(netlink, request, NLM_F_MULTI);
		break;
	case RTM_GETADDR:
		if (family == AF_UNSPEC || family == AF_INET)
			describe_address(netlink, request);
		break;
	case RTM_GETROUTE:
		break;
	default:
		return -EOPNOTSUPP;
	}
	answer_begin(&a, netlink, request, NLMSG_DONE, NLM_F_MULTI);
	answer_extend(&a, sizeof(s32));
	netlink_reply(netlink, &a, NULL, 0);
	return 0;
}

/* The device of a request, by number or by name. */
static long find_link(const struct nlmsghdr *request)
{
	const struct ifinfomsg *link = (const struct ifinfomsg *)(request + 1);
	u32 at = sizeof(*request) + sizeof(*link);

	if (request->len < at)
		return -EINVAL;
	if (link->index)
		return link->index == LOOPBACK_INDEX ? 0 : -ENODEV;
	while (at + sizeof(struct rtattr) <= request->len) {
		const struct rtattr *attr = (const struct rtattr *)((const u8 *)request + at);

		if (attr->len < sizeof(*attr) || attr->len > request->len - at)
			return -EINVAL;
		if (attr->type == IFLA_IFNAME)
			return attr->len >= sizeof(*attr) + 3 && !memcmp(attr + 1, "lo", 3) ? 0 : -ENODEV;
		at += NLMSG_ALIGN(attr->len);
	}
	return -EINVAL;
}

static long netlink_serve(struct netlink_socket *netlink, const struct nlmsghdr *request)
{
	long error;

	if (request->type < RTM_BASE)
		return 0;
	if (request->type > RTM_LAST)
		return -EOPNOTSUPP;
	if (!RTM_IS_GET(request->type))
		return capable() ? -EOPNOTSUPP : -EPERM;
	if (request->flags & NLM_F_DUMP)
		return netlink_dump(netlink, request);
	if (request->type != RTM_GETLINK)
		return -EOPNOTSUPP;
	error = find_link(request);
	if (!error)
		describe_link(netlink, request, 0);
	return error;
}

static void netlink_acknowledge(struct netlink_socket *netlink, const struct nlmsghdr *request, long error)
{
	struct answer a;

	answer_begin(&a, netlink, request, NLMSG_ERROR, error ? 0 : NLM_F_CAPPED);
	*(s32 *)answer_extend(&a, sizeof(s32)) = (s32)error;
	netlink_reply(netlink, &a, request, error ? request->len : (u32)sizeof(*request));
}

static void serve_all(struct netlink_socket *netlink, const u8 *bytes, u32 size)
{
	for (u32 at = 0; at + sizeof(struct nlmsghdr) <= size;) {
		const struct nlmsghdr *request = (const struct nlmsghdr *)(bytes + at);

		interrupt_window();
		if (request->len < sizeof(*request) || request->len > size - at)
			return;
		if (request->flags & NLM_F_REQUEST) {
			long error = netlink_serve(netlink, request);
			bool dumped = !error && request->flags & NLM_F_DUMP && request->type >= RTM_BASE;

			if (error || (request->flags & NLM_F_ACK && !dumped))
				netlink_acknowledge(netlink, request, error);
		}
		at += NLMSG_ALIGN(request->len);
	}
}

static long netlink_send(struct socket *socket, struct message *message)
{
	struct netlink_socket *netlink = netlink_of(socket);
	size_t size = message->data->left;
	struct sockaddr_nl to;
	long error = 0;
	u8 *bytes;

	if (message->address && message->address->len) {
		error = netlink_parse(message->address, &to);
		if (!error)
			error = check_destination(&to);
		if (error)
			return error;
	}
	netlink_take_port(netlink);
	if (size > REQUEST_MAX)
		return -EMSGSIZE;
	bytes = kmalloc(MAX(size, (size_t)1));
	if (!bytes)
		return -ENOBUFS;
	if (iter_read(message->data, bytes, size) != (long)size)
		error = -EFAULT;
	else if (socket->protocol == NETLINK_ROUTE)
		serve_all(netlink, bytes, (u32)size);
	kfree(bytes);
	return error ? error : (long)size;
}

static long netlink_receive(struct socket *socket, struct message *message)
{
	return datagram_take(socket, &netlink_of(socket)->queue, message);
}

static unsigned netlink_poll(struct socket *socket, struct poll_table *table)
{
	return POLLOUT | POLLWRNORM | datagram_poll(socket, &netlink_of(socket)->queue, table);
}

static long netlink_shutdown(struct socket *socket, unsigned how)
{
	(void)socket;
	(void)how;
	return -EOPNOTSUPP;
}

static u32 netlink_bytes(struct socket *socket)
{
	return datagram_next_size(&netlink_of(socket)->queue);
}

static u32 netlink_pages_held(const struct socket *socket)
{
	return datagram_pages_held(&netlink_of(socket)->queue);
}

static void netlink_release(struct socket *socket)
{
	struct netlink_socket *netlink = netlink_of(socket);

	list_del(&netlink->link);
	datagram_free(&netlink->queue);
	kfree(netlink);
}

static const struct socket_ops netlink_ops = {
	.bind = netlink_bind, .connect = netlink_connect, .name = netlink_name, .send = netlink_send,
	.receive = netlink_receive, .poll = netlink_poll, .shutdown = netlink_shutdown,
	.readable_bytes = netlink_bytes, .pages_held = netlink_pages_held, .release = netlink_release,
};
