/*
 * select: asks for readiness of `count` descriptors without waiting, of a file or of a TCP connection, as LmBench's
 * lat_select file and lat_select tcp.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../common/bench.h"

struct descriptors {
	fd_set set;
	int limit;
};

static void work(void *context, unsigned long count)
{
	struct descriptors *descriptors = context;

	while (count--) {
		struct timeval none = { 0, 0 };
		fd_set asked = descriptors->set;

		bench_check(select(descriptors->limit, NULL, &asked, NULL, &none), "select");
	}
}

static int a_file(void)
{
	const char *path = bench_file("select", 4096);
	int file = (int)bench_check(open(path, O_RDONLY), path);

	unlink(path);
	return file;
}

/* A connection of the process with itself, as far as TCP is concerned; its other end stays open. */
static int a_connection(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = (int)bench_check(socket(AF_INET, SOCK_STREAM, 0), "socket");
	int end = (int)bench_check(socket(AF_INET, SOCK_STREAM, 0), "socket");

	bench_check(bind(listener, (const struct sockaddr *)&address, size), "bind");
	bench_check(getsockname(listener, (struct sockaddr *)&address, &size), "getsockname");
	bench_check(listen(listener, 1), "listen");
	bench_check(connect(end, (const struct sockaddr *)&address, size), "connect");
	bench_check(accept(listener, NULL, NULL), "accept");
	return end;
}

int main(int argc, char **argv)
{
	struct descriptors descriptors = { .limit = 0 };
	const char *of = "file";
	unsigned long count = 100;
	const struct bench_option options[] = {
		BENCH_NUMBER("count", &count, 1, FD_SETSIZE - 8, "descriptors asked about"),
		BENCH_WORD("of", &of, "file|tcp", "what they are of"),
		BENCH_END,
	};
	char name[32];
	int file;

	bench_start("select", argc, argv, options, 100, 10);
	file = strcmp(of, "tcp") ? a_file() : a_connection();
	FD_ZERO(&descriptors.set);
	for (unsigned long i = 0; i < count; i++) {
		int fd = (int)bench_check(dup(file), "dup");

		FD_SET(fd, &descriptors.set);
		if (fd >= descriptors.limit)
			descriptors.limit = fd + 1;
	}
	snprintf(name, sizeof(name), "select-%lu", count);
	bench_row(name, bench_measure(work, &descriptors), bench_iterations, 0, BENCH_US, 0);
	return 0;
}
