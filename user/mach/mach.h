/*
 * What a program needs of GNU Mach's interface (GNU Mach Reference Manual, chapters 3 to 9): traps by the call gate 7,
 * and messages to the kernel. There is no C library: Mach starts the program as its only boot module.
 *
 * A message is a header, and for each datum a descriptor and the datum. The numbers of requests are those that MIG
 * gives to the routines of mach.defs (from 2000), device.defs (from 2800) and mach_port.defs (from 3200).
 */
#ifndef MACH_H
#define MACH_H

#include <stdint.h>

typedef uint32_t port_t;

/* A descriptor: the datum's type, its size in bits, how many there are, and that they follow in the message. */
#define MACH_TYPE(type, bits, count) ((uint32_t)(type) | (uint32_t)(bits) << 8 | (uint32_t)(count) << 16 | 1u << 28)
#define MACH_LONG                    (1u << 28 | 1u << 29)      /* size and count are in the two words that follow */
enum { TYPE_BOOLEAN = 0, TYPE_INTEGER = 2, TYPE_CHAR = 8, TYPE_STRING = 12, TYPE_PORT_NAME = 15 };
enum { MOVE_SEND_ONCE = 18, COPY_SEND = 19, MAKE_SEND = 20, MAKE_SEND_ONCE = 21 };
#define MACH_RIGHTS(remote, local) ((uint32_t)(remote) | (uint32_t)(local) << 8)

struct mach_header {
	uint32_t rights, size;
	port_t remote, local;
	uint32_t sequence, id;
};

/* Options of mach_msg. */
enum { MACH_SEND = 1, MACH_RECEIVE = 2, MACH_SEND_TIMEOUT = 0x10, MACH_RECEIVE_TIMEOUT = 0x100 };

/* Traps (entry.S). They give 0 or an error, or the name of a right. */
uint32_t mach_msg(void *message, uint32_t options, uint32_t send_size, uint32_t receive_size, port_t receive_from,
		  uint32_t milliseconds, port_t notify);
port_t mach_reply_port(void), mach_task_self(void), mach_thread_self(void);
uint32_t mach_task_create(port_t parent, uint32_t inherit, port_t *child);
uint32_t mach_port_allocate(port_t task, uint32_t right, port_t *name);

/* The program: called with its arguments after the two ports that Mach gives it. */
int mach_main(int count, char **arguments);

/* Ends the run with an error if `result` is one; `what` names what failed on the console. */
void mach_check(uint32_t result, const char *what);

/* A request to the kernel about `target` with `count` words behind the header: descriptors and data. The first `answer`
 * words of the answer, behind its descriptor and its result, are left in `words`. */
void mach_request(port_t target, uint32_t id, uint32_t *words, uint32_t count, uint32_t answer, const char *what);

/* A thread of `task` that starts at `entry` with this stack pointer, and `argument` in EBX. */
void mach_start_thread(port_t task, void (*entry)(void), void *stack_pointer, uint32_t argument);

void mach_print(const char *text);
uint32_t mach_option(int count, char **arguments, const char *name, uint32_t otherwise);

/* Prints the line of a row that the lab reads: `iterations` of region 1. */
void mach_row(const char *name, uint32_t iterations);
void mach_region_begin(void), mach_region_end(void);

#endif
