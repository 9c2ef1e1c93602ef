#include "inet.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include "check.h"

struct sockaddr_in loopback(int port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((unsigned short)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
}

int bind_to(int fd, int port)
{
	struct sockaddr_in a = loopback(port);

	return bind(fd, (struct sockaddr *)&a, sizeof(a));
}

int connect_to(int fd, int port)
{
	struct sockaddr_in a = loopback(port);

	return connect(fd, (struct sockaddr *)&a, sizeof(a));
}

int port_of(int fd)
{
	struct sockaddr_in a;
	socklen_t size = sizeof(a);

	MUST(getsockname(fd, (struct sockaddr *)&a, &size));
	return ntohs(a.sin_port);
}

int option_number(int fd, int level, int option)
{
	int value = -1;
	socklen_t size = sizeof(value);

	MUST(getsockopt(fd, level, option, &value, &size));
	CHECK_EQUAL(size, sizeof(value));
	return value;
}

int set_option(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value));
}
