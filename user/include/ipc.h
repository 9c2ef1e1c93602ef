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

/* Makes any of the four calls. Returns the partner's number, 0 after a send, or minus the error number; `time` is in
 * microseconds. */
static inline long ipc_invoke(long call, long partner, const struct ipc_buffers *buffers, uint32_t time,
			      struct ipc_message *message)
{
	register long r0 __asm__("r0") = call;
	register long r3 __asm__("r3") = partner;
	register uint32_t r4 __asm__("r4") = (uint32_t)buffers;
	register uint32_t r5 __asm__("r5") = time;
	register uint32_t r6 __asm__("r6") = message->word[0];
	register uint32_t r7 __asm__("r7") = message->word[1];
	register uint32_t r8 __asm__("r8") = message->word[2];

	__asm__ volatile("sc\n\t"
			 "bns+ 1f\n\t"
			 "neg 3,3\n"
			 "1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	message->word[0] = r6;
	message->word[1] = r7;
	message->word[2] = r8;
	message->size = r4;
	return r3;
}

#endif
