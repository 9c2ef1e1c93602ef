/* How a program makes the kernel's calls for synchronous messages: included by ipc.h. */
#ifndef PAGEWALK_USER_IPC_CALL_H
#define PAGEWALK_USER_IPC_CALL_H

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

/* The same with two words and no memory. The third word is 0, and is not received. */
static inline long ipc_invoke_pair(long call, long partner, uint32_t time, uint32_t word[2])
{
	register long r0 __asm__("r0") = call;
	register long r3 __asm__("r3") = partner;
	register uint32_t r4 __asm__("r4") = 0;
	register uint32_t r5 __asm__("r5") = time;
	register uint32_t r6 __asm__("r6") = word[0];
	register uint32_t r7 __asm__("r7") = word[1];
	register uint32_t r8 __asm__("r8") = 0;

	__asm__ volatile("sc\n\t"
			 "bns+ 1f\n\t"
			 "neg 3,3\n"
			 "1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	word[0] = r6;
	word[1] = r7;
	return r3;
}

/* The same with memory alone. The words are 0, and are not received. */
static inline long ipc_invoke_memory(long call, long partner, const struct ipc_buffers *buffers, uint32_t time)
{
	register long r0 __asm__("r0") = call;
	register long r3 __asm__("r3") = partner;
	register uint32_t r4 __asm__("r4") = (uint32_t)buffers;
	register uint32_t r5 __asm__("r5") = time;
	register uint32_t r6 __asm__("r6") = 0;
	register uint32_t r7 __asm__("r7") = 0;
	register uint32_t r8 __asm__("r8") = 0;

	__asm__ volatile("sc\n\t"
			 "bns+ 1f\n\t"
			 "neg 3,3\n"
			 "1:"
			 : "+r"(r0), "+r"(r3), "+r"(r4), "+r"(r5), "+r"(r6), "+r"(r7), "+r"(r8)
			 :
			 : "r9", "r10", "r11", "r12", "cr0", "ctr", "memory");
	return r3;
}

#endif
