/*
 * Netlink sockets (netlink(7)): requests to the kernel about its network devices, of which there is one, the loopback,
 * that nothing changes; and those that wait for events of devices, which never come.
 */
#include "datagram.h"

#include <abi/netlink.h>
#include <arch.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#define REQUEST_MAX 8192u	/* bytes of one send */
#define ANSWER_MAX 256u		/* of one answer, without the request that it repeats */
#define LOOPBACK_INDEX 1
#define LOOPBACK_MTU 65536u
#define LOOPBACK_QUEUE 1000u

struct netlink_socket {
	struct list_head link;	/* of those with ports */
	struct socket *socket;
	u32 port;		/* 0: none yet */
	u32 groups;
	struct datagram_queue queue;
};

#define BUCKETS 64u
static struct list_head buckets[BUCKETS];

static struct list_head *bucket(u32 port)
{
	struct list_head *head = &buckets[port * 2654435761u >> 26];

	if (!head->next)
		list_init(head);
	return head;
}

static const struct socket_ops netlink_ops;

static struct netlink_socket *netlink_of(const struct socket *s)
{
	return s->data;
}

long netlink_create(int type, int protocol, struct socket **out)
{
	struct netlink_socket *n;
	struct socket *s;

	if (type != SOCK_RAW && type != SOCK_DGRAM)
		return -ESOCKTNOSUPPORT;
	if (protocol != NETLINK_ROUTE && protocol != NETLINK_KOBJECT_UEVENT)
		return -EPROTONOSUPPORT;
	n = kzalloc(sizeof *n);
	s = n ? socket_new(AF_NETLINK, (u16)type, (u16)protocol, &netlink_ops) : NULL;
	if (!s) {
		kfree(n);
		return -ENOMEM;
	}
	n->socket = s;
	list_init(&n->link);
	datagram_init(&n->queue);
	s->data = n;
	*out = s;
	return 0;
}

static bool taken(const struct netlink_socket *wanted, u32 port)
{
	const struct netlink_socket *n;
	u32 looked_at = 0;

	list_for_each_entry(n, bucket(port), link) {
		interrupt_window_at(++looked_at);
		if (n != wanted && n->port == port && n->socket->protocol == wanted->socket->protocol)
			return true;
	}
	return false;
}

static void set_port(struct netlink_socket *n, u32 port)
{
	list_del(&n->link);
	n->port = port;
	list_add(&n->link, bucket(port));
}

/* The process's number, or, where another of its sockets has that, any that is no process's. */
static void take_port(struct netlink_socket *n)
{
	static u32 next;

	u32 port = (u32)current->tgid;

	/* Who binds many of these ports keeps only himself busy. */
	while (!n->port && taken(n, port)) {
		port = 0x80000000u | next++;
		preemption_point();
		if (signal_fatal_pending())
			return;
	}
	if (!n->port)
		set_port(n, port);
}

static long parse(const struct address *a, struct sockaddr_nl *to)
{
	if (a->len < sizeof *to)
		return -EINVAL;
	memcpy(to, a->bytes, sizeof *to);
	return to->family == AF_NETLINK ? 0 : -EINVAL;
}

static long netlink_bind(struct socket *s, const struct address *a)
{
	struct netlink_socket *n = netlink_of(s);
	struct sockaddr_nl wanted;
	long error = parse(a, &wanted);

	if (error)
		return error;
	if (n->port && wanted.port && wanted.port != n->port)
		return -EINVAL;
	if (wanted.port && taken(n, wanted.port))
		return -EADDRINUSE;
	if (wanted.port)
		set_port(n, wanted.port);
	else
		take_port(n);
	n->groups = wanted.groups;
	return 0;
}

/* Only the kernel can be talked to. */
static long check_destination(const struct sockaddr_nl *to)
{
	if (!to->port && !to->groups)
		return 0;
	return capable() ? -ECONNREFUSED : -EPERM;
}

static long netlink_connect(struct socket *s, const struct address *a, bool nonblock)
{
	struct sockaddr_nl to;
	long error;

	(void)nonblock;
	if (a->len >= sizeof a->family && a->family == AF_UNSPEC)
		return 0;
	error = parse(a, &to);
	if (!error)
		error = check_destination(&to);
	if (!error)
		take_port(netlink_of(s));
	return error;
}

static void format(struct address *a, u32 port, u32 groups)
{
	struct sockaddr_nl name = { .family = AF_NETLINK, .port = port, .groups = groups };

	memcpy(a->bytes, &name, sizeof name);
	a->len = sizeof name;
}

static long netlink_name(struct socket *s, struct address *a, bool peer)
{
	const struct netlink_socket *n = netlink_of(s);

	format(a, peer ? 0 : n->port, peer ? 0 : n->groups);
	return 0;
}

/* An answer in the making. All of them fit. */
struct answer {
	u32 size;
	u8 bytes[ANSWER_MAX];
};

static void *extend(struct answer *a, u32 size)
{
	void *place = a->bytes + a->size;

	ASSERT(a->size + NLMSG_ALIGN(size) <= sizeof a->bytes);
	memset(place, 0, NLMSG_ALIGN(size));
	a->size += NLMSG_ALIGN(size);
	return place;
}

static void begin(struct answer *a, const struct netlink_socket *n, const struct nlmsghdr *request, u16 type, u16 flags)
{
	struct nlmsghdr *h;

	a->size = 0;
	h = extend(a, sizeof *h);
	h->type = type;
	h->flags = flags;
	h->sequence = request->sequence;
	h->port = n->port;
}

static void attribute(struct answer *a, u16 type, const void *data, u32 size)
{
	struct rtattr *attr = extend(a, (u32)sizeof *attr + size);

	attr->type = type;
	attr->len = (u16)(sizeof *attr + size);
	memcpy(attr + 1, data, size);
}

static void attribute_word(struct answer *a, u16 type, u32 word)
{
	attribute(a, type, &word, sizeof word);
}

/* Into the socket's queue, followed by a copy of `more`. Without room it is lost, and the next receive tells. */
static void reply(struct netlink_socket *n, struct answer *a, const void *more, u32 more_size)
{
	const struct iovec piece[2] = { { a->bytes, a->size }, { (void *)(uintptr_t)more, more_size } };
	struct nlmsghdr *h = (struct nlmsghdr *)a->bytes;
	struct message m = { .flags = 0 };
	struct datagram *d;
	struct address from;
	struct iter it;

	h->len = a->size + more_size;
	iter_init_vector(&it, piece, 2, true);
	m.data = &it;
	format(&from, 0, 0);
	d = datagram_room(&n->queue) ? datagram_new(&m, &from) : NULL;
	if (!d || IS_ERR(d))
		n->socket->error = ENOBUFS;
	else
		datagram_append(&n->queue, d, &m);
}

static void describe_link(struct netlink_socket *n, const struct nlmsghdr *request, u16 flags)
{
	static const u8 address[6];
	struct answer a;
	struct ifinfomsg *link;
	u8 zero = 0;

	begin(&a, n, request, RTM_NEWLINK, flags);
	link = extend(&a, sizeof *link);
	link->type = ARPHRD_LOOPBACK;
	link->index = LOOPBACK_INDEX;
	link->flags = IFF_LOOPBACK_UP;
	attribute(&a, IFLA_IFNAME, "lo", 3);
	attribute_word(&a, IFLA_TXQLEN, LOOPBACK_QUEUE);
	attribute(&a, IFLA_OPERSTATE, &zero, 1);
	attribute(&a, IFLA_LINKMODE, &zero, 1);
	attribute_word(&a, IFLA_MTU, LOOPBACK_MTU);
	attribute(&a, IFLA_ADDRESS, address, sizeof address);
	attribute(&a, IFLA_BROADCAST, address, sizeof address);
	attribute(&a, IFLA_QDISC, "noqueue", 8);
	reply(n, &a, NULL, 0);
}

static void describe_address(struct netlink_socket *n, const struct nlmsghdr *request)
{
	static const u32 lasts[4] = { ~0u, ~0u };	/* preferred and valid for ever */
	struct answer a;
	struct ifaddrmsg *address;

	begin(&a, n, request, RTM_NEWADDR, NLM_F_MULTI);
	address = extend(&a, sizeof *address);
	address->family = AF_INET;
	address->prefix = 8;
	address->flags = IFA_F_PERMANENT;
	address->scope = RT_SCOPE_HOST;
	address->index = LOOPBACK_INDEX;
	attribute_word(&a, IFA_ADDRESS, INADDR_LOOPBACK);
	attribute_word(&a, IFA_LOCAL, INADDR_LOOPBACK);
	attribute(&a, IFA_LABEL, "lo", 3);
	attribute_word(&a, IFA_FLAGS, IFA_F_PERMANENT);
	attribute(&a, IFA_CACHEINFO, lasts, sizeof lasts);
	reply(n, &a, NULL, 0);
}

/* All of a kind: what there is, then the end. Routes are of no table that is shown without being asked for. */
static long dump(struct netlink_socket *n, const struct nlmsghdr *request)
{
	u8 family = request->len > sizeof *request ? *(const u8 *)(request + 1) : AF_UNSPEC;
	struct answer a;

	switch (request->type) {
	case RTM_GETLINK:
		describe_link(n, request, NLM_F_MULTI);
		break;
	case RTM_GETADDR:
		if (family == AF_UNSPEC || family == AF_INET)
			describe_address(n, request);
		break;
	case RTM_GETROUTE:
		break;
	default:
		return -EOPNOTSUPP;
	}
	begin(&a, n, request, NLMSG_DONE, NLM_F_MULTI);
	extend(&a, sizeof(s32));
	reply(n, &a, NULL, 0);
	return 0;
}

/* The device of a request, by number or by name. */
static long find_link(const struct nlmsghdr *request)
{
	const struct ifinfomsg *link = (const struct ifinfomsg *)(request + 1);
	u32 at = sizeof *request + sizeof *link;

	if (request->len < at)
		return -EINVAL;
	if (link->index)
		return link->index == LOOPBACK_INDEX ? 0 : -ENODEV;
	while (at + sizeof(struct rtattr) <= request->len) {
		const struct rtattr *attr = (const struct rtattr *)((const u8 *)request + at);

		if (attr->len < sizeof *attr || attr->len > request->len - at)
			return -EINVAL;
		if (attr->type == IFLA_IFNAME)
			return attr->len >= sizeof *attr + 3 && !memcmp(attr + 1, "lo", 3) ? 0 : -ENODEV;
		at += NLMSG_ALIGN(attr->len);
	}
	return -EINVAL;
}

static long serve(struct netlink_socket *n, const struct nlmsghdr *request)
{
	long error;

	if (request->type < RTM_BASE)
		return 0;
	if (request->type > RTM_LAST)
		return -EOPNOTSUPP;
	if (!RTM_IS_GET(request->type))
		return capable() ? -EOPNOTSUPP : -EPERM;
	if (request->flags & NLM_F_DUMP)
		return dump(n, request);
	if (request->type != RTM_GETLINK)
		return -EOPNOTSUPP;
	error = find_link(request);
	if (!error)
		describe_link(n, request, 0);
	return error;
}

static void acknowledge(struct netlink_socket *n, const struct nlmsghdr *request, long error)
{
	struct answer a;

	begin(&a, n, request, NLMSG_ERROR, error ? 0 : NLM_F_CAPPED);
	*(s32 *)extend(&a, sizeof(s32)) = (s32)error;
	reply(n, &a, request, error ? request->len : (u32)sizeof *request);
}

static void serve_all(struct netlink_socket *n, const u8 *bytes, u32 size)
{
	for (u32 at = 0; at + sizeof(struct nlmsghdr) <= size;) {
		const struct nlmsghdr *request = (const struct nlmsghdr *)(bytes + at);

		interrupt_window();
		if (request->len < sizeof *request || request->len > size - at)
			return;
		if (request->flags & NLM_F_REQUEST) {
			long error = serve(n, request);
			bool dumped = !error && request->flags & NLM_F_DUMP && request->type >= RTM_BASE;

			if (error || (request->flags & NLM_F_ACK && !dumped))
				acknowledge(n, request, error);
		}
		at += NLMSG_ALIGN(request->len);
	}
}

static long netlink_send(struct socket *s, struct message *m)
{
	struct netlink_socket *n = netlink_of(s);
	size_t size = m->data->left;
	struct sockaddr_nl to;
	long error = 0;
	u8 *bytes;

	if (m->address && m->address->len) {
		error = parse(m->address, &to);
		if (!error)
			error = check_destination(&to);
		if (error)
			return error;
	}
	take_port(n);
	if (size > REQUEST_MAX)
		return -EMSGSIZE;
	bytes = kmalloc(MAX(size, (size_t)1));
	if (!bytes)
		return -ENOBUFS;
	if (iter_read(m->data, bytes, size) != (long)size)
		error = -EFAULT;
	else if (s->protocol == NETLINK_ROUTE)
		serve_all(n, bytes, (u32)size);
	kfree(bytes);
	return error ? error : (long)size;
}

static long netlink_receive(struct socket *s, struct message *m)
{
	return datagram_take(s, &netlink_of(s)->queue, m);
}

static unsigned netlink_poll(struct socket *s, struct poll_table *table)
{
	return POLLOUT | POLLWRNORM | datagram_poll(s, &netlink_of(s)->queue, table);
}

static long netlink_shutdown(struct socket *s, unsigned how)
{
	(void)s;
	(void)how;
	return -EOPNOTSUPP;
}

static u32 netlink_bytes(struct socket *s)
{
	return datagram_next_size(&netlink_of(s)->queue);
}

static u32 netlink_pages_held(const struct socket *s)
{
	return datagram_pages_held(&netlink_of(s)->queue);
}

static void netlink_release(struct socket *s)
{
	struct netlink_socket *n = netlink_of(s);

	list_del(&n->link);
	datagram_free(&n->queue);
	kfree(n);
}

static const struct socket_ops netlink_ops = {
	.bind = netlink_bind, .connect = netlink_connect, .name = netlink_name, .send = netlink_send,
	.receive = netlink_receive, .poll = netlink_poll, .shutdown = netlink_shutdown,
	.readable_bytes = netlink_bytes, .pages_held = netlink_pages_held, .release = netlink_release,
};
