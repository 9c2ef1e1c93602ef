/* Netlink: asking the kernel for its network devices and addresses. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/check.h"

static int route_socket(void)
{
	return (int)MUST(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
}

static void ask(int fd, int type, int flags, int family, int index)
{
	struct {
		struct nlmsghdr header;
		struct ifinfomsg link;
	} request = {
		{ .nlmsg_len = sizeof(request), .nlmsg_type = (uint16_t)type,
		  .nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags), .nlmsg_seq = 77 },
		{ .ifi_family = (unsigned char)family, .ifi_index = index },
	};

	CHECK_EQUAL(send(fd, &request, sizeof(request), 0), (ssize_t)sizeof(request));
}

/* The first message of the next datagram. */
static struct nlmsghdr *answer(int fd)
{
	static char buffer[16384] __attribute__((aligned(8)));
	struct sockaddr_nl from;
	socklen_t size = sizeof(from);
	ssize_t n = recvfrom(fd, buffer, sizeof(buffer), MSG_DONTWAIT, (struct sockaddr *)&from, &size);
	struct nlmsghdr *header = (struct nlmsghdr *)buffer;

	CHECK(n >= (ssize_t)sizeof(*header));
	CHECK_EQUAL(size, sizeof(from));
	CHECK_EQUAL(from.nl_pid, 0);
	CHECK_EQUAL(header->nlmsg_seq, 77);
	CHECK(header->nlmsg_len <= (size_t)n);
	return header;
}

static int error_of(int fd)
{
	struct nlmsghdr *header = answer(fd);

	CHECK_EQUAL(header->nlmsg_type, NLMSG_ERROR);
	return ((struct nlmsgerr *)NLMSG_DATA(header))->error;
}

static void protocols(void)
{
	struct sockaddr_nl group = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	CHECK_ERROR(socket(AF_NETLINK, SOCK_STREAM, NETLINK_ROUTE), ESOCKTNOSUPPORT);
	CHECK_ERROR(socket(AF_NETLINK, SOCK_RAW, 23), EPROTONOSUPPORT);
	CHECK_ERROR(socket(AF_NETLINK, SOCK_RAW, 99), EPROTONOSUPPORT);
	MUST(bind((int)MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT)), (struct sockaddr *)&group,
		  sizeof(group)));
}

static void names(void)
{
	int first = route_socket(), second = route_socket();
	struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_pid = (uint32_t)getpid() };
	socklen_t size = sizeof(name);

	CHECK_ERROR(bind(first, (struct sockaddr *)&name, 4), EINVAL);
	MUST(bind(first, (struct sockaddr *)&name, sizeof(name)));
	CHECK_ERROR(bind(second, (struct sockaddr *)&name, sizeof(name)), EADDRINUSE);
	name.nl_pid = 0;
	MUST(bind(second, (struct sockaddr *)&name, sizeof(name)));
	MUST(getsockname(second, (struct sockaddr *)&name, &size));
	CHECK_EQUAL(size, sizeof(name));
	CHECK((int)name.nl_pid < 0);
	CHECK_ERROR(listen(first, 1), EOPNOTSUPP);
	CHECK_ERROR(shutdown(first, SHUT_RD), EOPNOTSUPP);
}

static void link_dump(void)
{
	int fd = route_socket(), found = 0;
	struct nlmsghdr *header;

	ask(fd, RTM_GETLINK, NLM_F_DUMP, AF_UNSPEC, 0);
	for (header = answer(fd); header->nlmsg_type == RTM_NEWLINK; header = answer(fd)) {
		struct ifinfomsg *link = NLMSG_DATA(header);
		int left = (int)IFLA_PAYLOAD(header);

		CHECK(header->nlmsg_flags & NLM_F_MULTI);
		CHECK_EQUAL(header->nlmsg_pid, getpid());
		if (link->ifi_index != 1)
			continue;
		CHECK_EQUAL(link->ifi_type, 772);
		for (struct rtattr *attribute = IFLA_RTA(link); RTA_OK(attribute, left); attribute = RTA_NEXT(attribute,
													      left))
			if (attribute->rta_type == IFLA_IFNAME)
				found = strcmp(RTA_DATA(attribute), "lo") == 0;
	}
	CHECK_EQUAL(header->nlmsg_type, NLMSG_DONE);
	CHECK(found);
	CHECK_ERROR(recv(fd, &found, sizeof(found), MSG_DONTWAIT), EAGAIN);
}

static void one_link(void)
{
	int fd = route_socket();
	struct nlmsghdr *header;

	ask(fd, RTM_GETLINK, 0, AF_UNSPEC, 1);
	header = answer(fd);
	CHECK_EQUAL(header->nlmsg_type, RTM_NEWLINK);
	CHECK_EQUAL(header->nlmsg_flags & NLM_F_MULTI, 0);
	ask(fd, RTM_GETLINK, 0, AF_UNSPEC, 99);
	CHECK_EQUAL(error_of(fd), -ENODEV);
	ask(fd, NLMSG_NOOP, NLM_F_ACK, AF_UNSPEC, 0);
	CHECK_EQUAL(error_of(fd), 0);
	/* A message shorter than a header is ignored. */
	CHECK_EQUAL(send(fd, "abc", 3, 0), 3);
	CHECK_ERROR(recv(fd, &header, sizeof(header), MSG_DONTWAIT), EAGAIN);
}

static void library(void)
{
	struct ifaddrs *all, *one;
	struct if_nameindex *names;
	int addresses = 0, links = 0;

	MUST(getifaddrs(&all));
	for (one = all; one; one = one->ifa_next) {
		if (strcmp(one->ifa_name, "lo") != 0 || !one->ifa_addr)
			continue;
		CHECK(one->ifa_flags & IFF_LOOPBACK);
		if (one->ifa_addr->sa_family == AF_INET) {
			struct sockaddr_in *in = (struct sockaddr_in *)one->ifa_addr;

			addresses += in->sin_addr.s_addr == htonl(INADDR_LOOPBACK);
		} else {
			links += one->ifa_addr->sa_family == AF_PACKET;
		}
	}
	freeifaddrs(all);
	CHECK_EQUAL(addresses, 1);
	CHECK_EQUAL(links, 1);
	names = if_nameindex();
	CHECK(names != NULL);
	CHECK_EQUAL(names[0].if_index, 1);
	CHECK_EQUAL(strcmp(names[0].if_name, "lo"), 0);
	if_freenameindex(names);
}

static const struct test_case cases[] = {
	CASE(protocols),
	CASE(names),
	CASE(link_dump),
	CASE(one_link),
	CASE(library),
};

TEST_MAIN("netlink", cases)
