/*
 * UDP-Lite: a transport with ports of its own, whose checksum may cover a part of a datagram. QEMU does not pass its
 * options on, so it is tested on the kernel only.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "common/check.h"
#include "common/inet.h"

enum { SEND_COVERAGE = 10, RECEIVE_COVERAGE = 11, LEAST = 8 };

static int open_socket(int protocol)
{
	return (int)MUST(socket(AF_INET, SOCK_DGRAM, protocol));
}

static int connected_to(int port, int protocol)
{
	int fd = open_socket(protocol);

	MUST(connect_to(fd, port));
	return fd;
}

static int set(int fd, int option, int value)
{
	return setsockopt(fd, IPPROTO_UDPLITE, option, &value, sizeof(value));
}

/* The same port of UDP is another one, and what is sent to one does not come to the other. */
static void own_ports(void)
{
	int lite = open_socket(IPPROTO_UDPLITE), second = open_socket(IPPROTO_UDPLITE), udp = open_socket(0);
	int port, from;
	char bytes[8];

	CHECK_EQUAL(option_number(lite, SOL_SOCKET, SO_PROTOCOL), IPPROTO_UDPLITE);
	CHECK_EQUAL(option_number(lite, SOL_SOCKET, SO_TYPE), SOCK_DGRAM);
	MUST(bind_to(lite, 0));
	port = port_of(lite);
	MUST(bind_to(udp, port));
	CHECK_ERROR(bind_to(second, port), EADDRINUSE);
	from = connected_to(port, IPPROTO_UDPLITE);
	CHECK_EQUAL(send(from, "lite", 4, 0), 4);
	CHECK_ERROR(recv(udp, bytes, sizeof(bytes), MSG_DONTWAIT), EAGAIN);
	CHECK_EQUAL(recv(lite, bytes, sizeof(bytes), MSG_DONTWAIT), 4);
	CHECK_ERROR(socket(AF_INET, SOCK_STREAM, IPPROTO_UDPLITE), EPROTONOSUPPORT);
}

static void coverage_reads_back(void)
{
	static const struct { int value, back; } rows[] = {
		{ 20, 20 }, { 1, LEAST }, { -3, LEAST }, { 70000, 65535 }, { 0, 0 },
	};
	int lite = open_socket(IPPROTO_UDPLITE), udp = open_socket(0);

	for (int option = SEND_COVERAGE; option <= RECEIVE_COVERAGE; option++) {
		CHECK_EQUAL(option_number(lite, IPPROTO_UDPLITE, option), 0);
		for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			MUST(set(lite, option, rows[i].value));
			CHECK_EQUAL(option_number(lite, IPPROTO_UDPLITE, option), rows[i].back);
		}
		CHECK_ERROR(set(udp, option, 20), ENOPROTOOPT);
	}
	CHECK_ERROR(set(lite, RECEIVE_COVERAGE + 1, 20), ENOPROTOOPT);
}

/* A receiver that asks for more than the sender covers gets nothing, unless all is covered. */
static void coverage_wanted(void)
{
	static const struct { int send, receive; bool comes; } rows[] = {
		{ 12, 0, false }, { 12, 13, false }, { 12, 12, true }, { 14, 65535, true }, { 0, 20, true },
		{ 13, 20, false },
	};
	int lite = open_socket(IPPROTO_UDPLITE), from;
	char bytes[8];

	MUST(bind_to(lite, 0));
	from = connected_to(port_of(lite), IPPROTO_UDPLITE);
	MUST(set(from, SEND_COVERAGE, 12));
	CHECK_EQUAL(send(from, "sixsix", 6, 0), 6);
	CHECK_EQUAL(recv(lite, bytes, sizeof(bytes), MSG_DONTWAIT), 6);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		MUST(set(from, SEND_COVERAGE, rows[i].send));
		MUST(set(lite, RECEIVE_COVERAGE, rows[i].receive));
		CHECK_EQUAL(send(from, "sixsix", 6, 0), 6);
		CHECK_EQUAL(recv(lite, bytes, sizeof(bytes), MSG_DONTWAIT), rows[i].comes ? 6 : -1);
	}
}

static const struct test_case cases[] = { CASE(own_ports), CASE(coverage_reads_back), CASE(coverage_wanted) };

TEST_MAIN("udp_lite", cases)
