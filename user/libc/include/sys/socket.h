#ifndef PAGEWALK_SYS_SOCKET_H
#define PAGEWALK_SYS_SOCKET_H

#define AF_UNIX     1
#define SOCK_STREAM 1

int socketpair(int family, int type, int protocol, int ends[2]);

#endif
