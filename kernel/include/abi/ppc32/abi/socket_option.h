/* Options of sockets with PowerPC's numbers (uapi powerpc asm/socket.h). */
#ifndef ABI_SOCKET_OPTION_H
#define ABI_SOCKET_OPTION_H
#include <abi/socket_option_base.h>

enum {
	SO_RCVLOWAT = 16, SO_SNDLOWAT = 17, SO_RCVTIMEO = 18, SO_SNDTIMEO = 19, SO_PASSCRED = 20, SO_PEERCRED = 21,
};

#endif
