/* What programs on GNU Mach share: requests to the kernel, the console, and the machine's control device. */
#include "mach.h"

#include <stddef.h>

enum { REQUEST_THREAD_GET_STATE = 2017, REQUEST_THREAD_SET_STATE = 2018, REQUEST_THREAD_CREATE = 2061,
       REQUEST_THREAD_RESUME = 2063, REQUEST_VM_MAP = 2089, REQUEST_DEVICE_OPEN = 2800, REQUEST_DEVICE_WRITE = 2803,
       REQUEST_DEVICE_MAP = 2809 };

#define WORDS_MOST 48
#define SCRIPT_WORDS 4				/* name, console, host's port, devices' port */
#define HOLDS_RIGHTS 0x80000000u        /* of a message: data of it are rights */
#define INTEGER    MACH_TYPE(TYPE_INTEGER, 32, 1)
#define BOOLEAN    MACH_TYPE(TYPE_BOOLEAN, 32, 1)
#define NAME_BYTES 128                          /* of a device's name in a request */
#define CONSOLE_MILLISECONDS 1000               /* longer than a row's line takes at 9600 baud */
#define TEXT_BYTES 120                          /* of what one request writes; it can hold 128 */

/* The control device: the kernel half ends a page, and the user half is the next page (docs/interfaces.md, 2). */
#define CONTROL_AT   0x80000000u
#define CONTROL_SIZE 0x2000u
enum { POWER_OFF = 0xf08 / 4, REGION_BEGIN = 0x1000 / 4, REGION_END = 0x1004 / 4, MAGIC = 0x1018 / 4 };
#define CONTROL_MAGIC 0x50574c4bu
#define READ_WRITE    3u
#define INHERIT_SHARE 0u

/* A thread's registers, in Mach's order. */
#define REGISTERS_FLAVOR 5u
enum { REGISTER_EBP = 6, REGISTER_EBX = 8, REGISTER_EIP = 12, REGISTER_ESP = 15, REGISTERS = 17 };

static volatile uint32_t *control;
static port_t reply, console;

void mach_begin(uintptr_t *stack);

static _Noreturn void power_off(uint32_t status)
{
	for (;;)
		if (control)
			control[POWER_OFF] = status;
		else
			__asm__ volatile("ud2");
}

/* Mach keeps what was written and sends it later: waits for a message that never comes until the line must be idle. */
static void wait_for_console(void)
{
	struct mach_header message;

	mach_msg(&message, MACH_RECEIVE | MACH_RECEIVE_TIMEOUT, 0, sizeof(message), reply, CONSOLE_MILLISECONDS, 0);
}

void mach_check(uint32_t result, const char *what)
{
	static int failing;

	if (!result)
		return;
	if (console && !failing) {
		failing = 1;
		mach_print(what);
		mach_print(": Mach refused it\n");
		wait_for_console();
	}
	power_off(1);
}

void mach_request(port_t target, uint32_t id, uint32_t *words, uint32_t count, uint32_t answer, const char *what)
{
	struct {
		struct mach_header header;
		uint32_t words[WORDS_MOST];     /* of an answer: a descriptor, the result, and the rest */
	} message;
	uint32_t size = (uint32_t)sizeof(message.header) + count * 4, rights = MACH_RIGHTS(COPY_SEND, MAKE_SEND_ONCE);

	if (id == REQUEST_VM_MAP)
		rights |= HOLDS_RIGHTS;
	message.header = (struct mach_header){ rights, size, target, reply, 0, id };
	for (uint32_t i = 0; i < count; i++)
		message.words[i] = words[i];
	mach_check(mach_msg(&message, MACH_SEND | MACH_RECEIVE, size, sizeof(message), reply, 0, 0), what);
	mach_check(message.words[1], what);
	for (uint32_t i = 0; i < answer; i++)
		words[i] = message.words[2 + i];
}

static port_t open_device(port_t devices, const char *name)
{
	uint32_t words[5 + NAME_BYTES / 4] = { INTEGER, READ_WRITE, MACH_LONG, TYPE_STRING | NAME_BYTES * 8 << 16, 1 };
	char *at = (char *)&words[5];

	while (*name)
		*at++ = *name++;
	mach_request(devices, REQUEST_DEVICE_OPEN, words, sizeof(words) / 4, 2, "device_open");
	return words[1];
}

/* Maps the control device by Mach's device `mem`, shared with tasks that are created later. */
static void map_control(port_t memory)
{
	uint32_t object[] = { INTEGER, READ_WRITE, INTEGER, CONTROL_AT, INTEGER, CONTROL_SIZE, INTEGER, 0 };

	mach_request(memory, REQUEST_DEVICE_MAP, object, sizeof(object) / 4, 2, "device_map");

	uint32_t map[] = {
		INTEGER, 0, INTEGER, CONTROL_SIZE, INTEGER, 0, BOOLEAN, 1, MACH_TYPE(COPY_SEND, 32, 1), object[1],
		INTEGER, 0, BOOLEAN, 0, INTEGER, READ_WRITE, INTEGER, READ_WRITE, INTEGER, INHERIT_SHARE,
	};

	mach_request(mach_task_self(), REQUEST_VM_MAP, map, sizeof(map) / 4, 2, "vm_map");
	control = (volatile uint32_t *)map[1];
	mach_check(control[MAGIC] != CONTROL_MAGIC, "control device");
}

void mach_print(const char *text)
{
	while (*text) {
		uint32_t words[5 + TEXT_BYTES / 4] = { INTEGER, 0, INTEGER, 0 }, length = 0;

		for (char *at = (char *)&words[5]; length < TEXT_BYTES && text[length]; length++)
			at[length] = text[length];
		words[4] = MACH_TYPE(TYPE_CHAR, 8, length);
		mach_request(console, REQUEST_DEVICE_WRITE, words, 5 + (length + 3) / 4, 0, "device_write");
		text += length;
	}
}

void mach_start_thread(port_t task, void (*entry)(void), void *stack_pointer, uint32_t argument)
{
	uint32_t words[3 + 1 + REGISTERS], thread[2];
	uint32_t *registers = &words[3];

	mach_request(task, REQUEST_THREAD_CREATE, thread, 0, 2, "thread_create");
	words[0] = words[2] = INTEGER;
	words[1] = REGISTERS_FLAVOR;
	words[3] = REGISTERS;
	mach_request(thread[1], REQUEST_THREAD_GET_STATE, words, 4, 1 + REGISTERS, "thread_get_state");
	for (int i = REGISTERS - 1; i >= 0; i--)
		registers[i] = words[1 + i];
	registers[REGISTER_EIP] = (uint32_t)entry;
	registers[REGISTER_ESP] = (uint32_t)stack_pointer;
	registers[REGISTER_EBP] = 0;
	registers[REGISTER_EBX] = argument;
	words[0] = INTEGER;
	words[1] = REGISTERS_FLAVOR;
	words[2] = MACH_TYPE(TYPE_INTEGER, 32, REGISTERS);
	mach_request(thread[1], REQUEST_THREAD_SET_STATE, words, 3 + REGISTERS, 0, "thread_set_state");
	mach_request(thread[1], REQUEST_THREAD_RESUME, words, 0, 0, "thread_resume");
}

static uint32_t number(const char *text)
{
	uint32_t value = 0;

	for (; *text >= '0' && *text <= '9'; text++)
		value = value * 10 + (uint32_t)(*text - '0');
	return value;
}

uint32_t mach_option(int count, char **arguments, const char *name, uint32_t otherwise)
{
	for (int i = 0; i < count; i++) {
		const char *word = arguments[i], *wanted = name;

		while (*wanted && *word == *wanted)
			word++, wanted++;
		if (!*wanted && *word == '=')
			return number(word + 1);
	}
	return otherwise;
}

void mach_region_begin(void)
{
	control[REGION_BEGIN] = 1;
}

void mach_region_end(void)
{
	control[REGION_END] = 1;
}

void mach_row(const char *name, uint32_t iterations)
{
	char digits[12], *at = digits + sizeof(digits) - 1;

	*at = '\0';
	do {
		*--at = (char)('0' + iterations % 10);
		iterations /= 10;
	} while (iterations);
	mach_print("\n@row name=");          /* Mach has begun the line */
	mach_print(name);
	mach_print(" region=1 iterations=");
	mach_print(at);
	mach_print(" bytes=0 unit=us\n");
}

/* The stack holds the number of arguments and their addresses. They are the words of Mach's boot script: the module's
 * name, Mach's word for its console, the ports of the host and of the devices, and then the program's. A placement's
 * word moves the program's stack (lab/pagewalk/placement.py). */
void mach_begin(uintptr_t *stack)
{
	int count = (int)stack[0] - SCRIPT_WORDS;
	char **arguments = (char **)&stack[1] + SCRIPT_WORDS;
	port_t devices = number((char *)stack[SCRIPT_WORDS]);
	volatile char *moved = __builtin_alloca(mach_option(count, arguments, "stack", 0) + 1);

	moved[0] = 0;
	reply = mach_reply_port();
	map_control(open_device(devices, "mem"));
	console = open_device(devices, "console");
	uint32_t status = (uint32_t)mach_main(count, arguments);

	wait_for_console();
	power_off(status);
}
