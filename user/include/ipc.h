/* The kernel's synchronous messages (docs/interfaces.md, section 10): no other system has these calls. */
#ifndef PAGEWALK_USER_IPC_H
#define PAGEWALK_USER_IPC_H

#include <stdint.h>

#define IPC_SEND       508
#define IPC_RECEIVE    509
#define IPC_CALL       510
#define IPC_REPLY_WAIT 511

#define IPC_ANYONE     0
#define IPC_FOREVER    0xffffffffu
#define IPC_BYTES_MOST 65536u

struct ipc_buffers {
	const void *send;
	uint32_t send_size;
	void *receive;
	uint32_t receive_size;
};

/* What a call passes in registers, in both directions. */
struct ipc_message {
	uint32_t word[3];
	uint32_t size;          /* received: bytes that the sender sent, even if not all of them fitted */
};

#include "ipc_call.h"

#endif
