/* How a program makes the kernel's calls for synchronous messages: included by ipc.h. */
#ifndef PAGEWALK_USER_IPC_CALL_H
#define PAGEWALK_USER_IPC_CALL_H

/* Makes any of the four calls. Returns the partner's number, 0 after a send, or minus the error number; `time` is in
 * microseconds. */
static inline long ipc_invoke(long call, long partner, const struct ipc_buffers *buffers, uint32_t time,
			      struct ipc_message *message)
{
	uint32_t b = (uint32_t)buffers, d = message->word[0], e = message->word[1];

	/* The last word goes in and out by ebp, whose value lies on the stack meanwhile. */
	__asm__ volatile("pushl %6\n\t"
			 "xchgl %%ebp, (%%esp)\n\t"
			 "int $0x80\n\t"
			 "xchgl %%ebp, (%%esp)\n\t"
			 "popl %6"
			 : "+a"(call), "+b"(partner), "+c"(b), "+d"(time), "+S"(d), "+D"(e), "+m"(message->word[2])
			 :
			 : "memory", "cc");
	message->word[0] = d;
	message->word[1] = e;
	message->size = b;
	return call;
}

/* The same with two words and no memory. The third word is 0, and is not received. */
static inline long ipc_invoke_pair(long call, long partner, uint32_t time, uint32_t word[2])
{
	uint32_t no_memory = 0;

	__asm__ volatile("pushl %%ebp\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "int $0x80\n\t"
			 "popl %%ebp"
			 : "+a"(call), "+b"(partner), "+c"(no_memory), "+d"(time), "+S"(word[0]), "+D"(word[1])
			 :
			 : "memory", "cc");
	return call;
}

/* The same with memory alone. The words are 0, and are not received. */
static inline long ipc_invoke_memory(long call, long partner, const struct ipc_buffers *buffers, uint32_t time)
{
	uint32_t b = (uint32_t)buffers, d = 0, e = 0;

	__asm__ volatile("pushl %%ebp\n\t"
			 "xorl %%ebp, %%ebp\n\t"
			 "int $0x80\n\t"
			 "popl %%ebp"
			 : "+a"(call), "+b"(partner), "+c"(b), "+d"(time), "+S"(d), "+D"(e)
			 :
			 : "memory", "cc");
	return call;
}

#endif
