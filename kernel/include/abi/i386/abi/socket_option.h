/* Options of sockets with the numbers of asm-generic/socket.h. */
#ifndef ABI_SOCKET_OPTION_H
#define ABI_SOCKET_OPTION_H
#include <abi/socket_option_base.h>

enum {
	SO_RCVLOWAT = 18, SO_SNDLOWAT = 19, SO_RCVTIMEO = 20, SO_SNDTIMEO = 21, SO_PASSCRED = 16, SO_PEERCRED = 17,
};

#endif
