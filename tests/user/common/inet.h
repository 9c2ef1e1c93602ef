/* Shared by the tests of TCP and UDP sockets. All addresses are of the loopback device. */
#ifndef PAGEWALK_TEST_INET_H
#define PAGEWALK_TEST_INET_H

#include <netinet/in.h>

struct sockaddr_in loopback(int port);
/* These return what bind and connect return. Port 0: any. */
int bind_to(int fd, int port);
int connect_to(int fd, int port);
/* The port of the socket's own name. */
int port_of(int fd);

/* Returns the number of an option. */
int option_number(int fd, int level, int option);
/* Returns what setsockopt returns. */
int set_option(int fd, int level, int option, int value);

#endif
