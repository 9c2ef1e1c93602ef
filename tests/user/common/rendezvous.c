#define _GNU_SOURCE
#include "rendezvous.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

long send_words(long to, uint32_t time, uint32_t a, uint32_t b, uint32_t c)
{
	struct ipc_message message = { .word = { a, b, c } };

	return ipc_invoke(IPC_SEND, to, NULL, time, &message);
}

long receive_words(long from, uint32_t time, struct ipc_message *message)
{
	return ipc_invoke(IPC_RECEIVE, from, NULL, time, message);
}

long call_words(long to, uint32_t time, struct ipc_message *message)
{
	return ipc_invoke(IPC_CALL, to, NULL, time, message);
}

long send_bytes(long to, const void *data, uint32_t size, uint32_t time)
{
	struct ipc_buffers buffers = { .send = data, .send_size = size };
	struct ipc_message message = { { 0 }, 0 };

	return ipc_invoke(IPC_SEND, to, &buffers, time, &message);
}

long receive_bytes(long from, void *data, uint32_t room, uint32_t time, uint32_t *size)
{
	struct ipc_buffers buffers = { .receive = data, .receive_size = room };
	struct ipc_message message = { { 0 }, 0 };
	long result = ipc_invoke(IPC_RECEIVE, from, &buffers, time, &message);

	*size = message.size;
	return result;
}

void let_wait(void)
{
	struct timespec pause = { .tv_nsec = SHORT * 1000 };

	while (nanosleep(&pause, &pause) && errno == EINTR)
		;
}

char *map_pages(size_t size, int protection)
{
	char *where = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	return where;
}

void end_child(pid_t child)
{
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

int send_number(void *number)
{
	CHECK_EQUAL(send_words(getppid(), IPC_FOREVER, (uint32_t)(uintptr_t)number, 0, 0), 0);
	return 0;
}

int end_soon(void *unused)
{
	(void)unused;
	let_wait();
	return 0;
}
