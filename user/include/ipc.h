/* The kernel's synchronous messages (docs/interfaces.md, section 10): no other system has these calls. */
#ifndef PAGEWALK_USER_IPC_H
#define PAGEWALK_USER_IPC_H

#include <stdint.h>

#include "call.h"

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

/* Makes any of the four calls. Returns the partner's number, 0 after a send, or minus the error number; `time` is in
 * microseconds. */
static inline long ipc_invoke(long call, long partner, const struct ipc_buffers *buffers, uint32_t time,
			      struct ipc_message *message)
{
	long argument[6] = {
		partner, (long)buffers, (long)time, (long)message->word[0], (long)message->word[1],
		(long)message->word[2],
	};
	long result = system_call_words(call, argument);

	message->word[0] = (uint32_t)argument[3];
	message->word[1] = (uint32_t)argument[4];
	message->word[2] = (uint32_t)argument[5];
	message->size = (uint32_t)argument[1];
	return result;
}

#endif
