/*
 * ipc: one way of a message between two tasks of Mach, half of a round trip, as user/bench/ipc measures it on our
 * kernel.
 *
 * The message has a header, a descriptor, and `size` bytes. The client sends it with a right to reply once. The server
 * adds one to its first word and sends it back. A task sends and receives by one trap, which is the path that Mach's
 * authors made fast. `limit`: milliseconds that a side waits for the other; a call with a time limit takes the general
 * path. separate=1: one trap sends, another receives.
 */
#include "mach.h"

#define BYTES_MOST  4096
#define STACK_BYTES 8192
#define RECEIVE_RIGHT 1u
#define OF_SENDING    (uint32_t)(MACH_SEND | MACH_SEND_TIMEOUT)
#define OF_RECEIVING  (uint32_t)(MACH_RECEIVE | MACH_RECEIVE_TIMEOUT)
#define INHERIT_MEMORY 1u
#define REQUEST_EXTRACT_RIGHT 3216

struct message {
	struct mach_header header;
	uint32_t type, data[BYTES_MOST / 4];
};

static uint32_t size, limit, separate;
static port_t server, answers;
static char server_stack[STACK_BYTES + sizeof(struct message)] __attribute__((aligned(16)));

static uint32_t message_bytes(void)
{
	return (uint32_t)sizeof(struct mach_header) + 4 + size;
}

static void exchange(struct message *message, port_t receive_from)
{
	uint32_t options = MACH_SEND | MACH_RECEIVE, bytes = message_bytes();

	if (limit)
		options |= MACH_SEND_TIMEOUT | MACH_RECEIVE_TIMEOUT;
	message->type = MACH_TYPE(TYPE_INTEGER, 32, size / 4);
	if (!separate) {
		mach_check(mach_msg(message, options, bytes, bytes, receive_from, limit, 0), "message");
		return;
	}
	mach_check(mach_msg(message, options & OF_SENDING, bytes, 0, 0, limit, 0), "send");
	mach_check(mach_msg(message, options & OF_RECEIVING, 0, bytes, receive_from, limit, 0), "receive");
}

/* Runs in the second task, which has a copy of this program's memory. Its receive right's name is in EBX. */
static __attribute__((used)) _Noreturn void serve(port_t requests)
{
	struct message message;

	mach_check(mach_msg(&message, MACH_RECEIVE, 0, message_bytes(), requests, 0, 0), "first receive");
	for (;;) {
		message.header.rights = MACH_RIGHTS(MOVE_SEND_ONCE, 0);
		message.header.local = 0;
		message.data[0]++;
		exchange(&message, requests);
	}
}

void serve_entry(void);
__asm__(".globl serve_entry\nserve_entry:\n\tpushl %ebx\n\tcall serve\n");

static void round_trips(uint32_t count)
{
	struct message message;

	for (uint32_t i = 0; i < size / 4; i++)
		message.data[i] = i;
	for (uint32_t i = 0; i < count;) {
		message.header.rights = MACH_RIGHTS(COPY_SEND, MAKE_SEND_ONCE);
		message.header.remote = server;
		message.header.local = answers;
		message.data[0] = i;
		exchange(&message, answers);
		mach_check(message.data[0] != ++i || message.data[size / 4 - 1] != size / 4 - 1, "answer");
	}
}

/* The receive right is made in the second task: a right that is moved there gets a name that Mach finds more slowly. */
static void start_server(void)
{
	port_t task, name;
	uint32_t words[4];

	mach_check(mach_task_create(mach_task_self(), INHERIT_MEMORY, &task), "task_create");
	mach_check(mach_port_allocate(task, RECEIVE_RIGHT, &name), "port_allocate");
	words[0] = MACH_TYPE(TYPE_PORT_NAME, 32, 1);
	words[1] = name;
	words[2] = MACH_TYPE(TYPE_INTEGER, 32, 1);
	words[3] = MAKE_SEND;
	mach_request(task, REQUEST_EXTRACT_RIGHT, words, 4, 2, "port_extract_right");
	server = words[1];
	mach_start_thread(task, serve_entry, server_stack + sizeof(server_stack) - 16, name);
}

int mach_main(int count, char **arguments)
{
	uint32_t iterations = mach_option(count, arguments, "iterations", 400);

	size = mach_option(count, arguments, "size", 8);
	limit = mach_option(count, arguments, "limit", 0);
	separate = mach_option(count, arguments, "separate", 0);
	mach_check(size < 8 || size > BYTES_MOST || size % 4, "size");
	answers = mach_reply_port();
	start_server();
	round_trips(mach_option(count, arguments, "warmup", 200));
	mach_region_begin();
	round_trips(iterations);
	mach_region_end();
	mach_row("ipc", 2 * iterations);
	return 0;
}
