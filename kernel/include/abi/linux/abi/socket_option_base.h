/* Options of sockets (uapi asm-generic/socket.h). abi/socket_option.h has the numbers that differ. */
#ifndef ABI_SOCKET_OPTION_BASE_H
#define ABI_SOCKET_OPTION_BASE_H

#define SOL_SOCKET 1
#define SO_REUSEADDR 2

enum {
	SO_DEBUG = 1, SO_TYPE = 3, SO_ERROR = 4, SO_DONTROUTE = 5, SO_BROADCAST = 6, SO_SNDBUF = 7, SO_RCVBUF = 8,
	SO_KEEPALIVE = 9, SO_OOBINLINE = 10, SO_PRIORITY = 12, SO_LINGER = 13, SO_REUSEPORT = 15, SO_ACCEPTCONN = 30,
	SO_SNDBUFFORCE = 32, SO_RCVBUFFORCE = 33, SO_PROTOCOL = 38, SO_DOMAIN = 39, SO_RCVTIMEO_NEW = 66,
	SO_SNDTIMEO_NEW = 67,
};

#endif
