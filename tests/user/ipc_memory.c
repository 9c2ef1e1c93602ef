/* Memory sent with the kernel's synchronous messages: what arrives, and which accesses fault. No other system has these
 * calls, so only our kernel can pass. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rendezvous.h"

static uint8_t byte_at(uint32_t i, uint32_t seed)
{
	return (uint8_t)(i * 7 + (i >> 8) + seed);
}

static void fill(uint8_t *data, uint32_t size, uint32_t seed)
{
	for (uint32_t i = 0; i < size; i++)
		data[i] = byte_at(i, seed);
}

static void check_filled(const uint8_t *data, uint32_t size, uint32_t seed)
{
	for (uint32_t i = 0; i < size; i++)
		if (data[i] != byte_at(i, seed))
			CHECK_EQUAL(i, -1);
}

static const uint32_t sizes[] = { 1, 8, 31, 4095, 4096, 4097, 16384, IPC_BYTES_MOST };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* Sends each size from the end of a mapping, so that a read beyond the message would fault. */
static int send_sizes(void *early)
{
	uint8_t *data = (uint8_t *)map_pages(IPC_BYTES_MOST + PAGE, PROT_READ | PROT_WRITE);

	for (uint32_t i = 0; i < SIZES; i++) {
		uint8_t *from = data + IPC_BYTES_MOST + PAGE - sizes[i];

		fill(from, sizes[i], i);
		if (!early)
			let_wait();
		CHECK_EQUAL(send_bytes(getppid(), from, sizes[i], IPC_FOREVER), 0);
		memset(from, 0xee, sizes[i]);
	}
	return 0;
}

static void memory_arrives(void)
{
	for (int early = 0; early < 2; early++) {
		pid_t child = test_child(send_sizes, early ? &early : NULL);
		/* Use fresh pages, and an address without any alignment. */
		uint8_t *data = (uint8_t *)map_pages(IPC_BYTES_MOST + PAGE, PROT_READ | PROT_WRITE);
		uint32_t size;

		for (uint32_t i = 0; i < SIZES; i++) {
			if (early)
				let_wait();
			CHECK_EQUAL(receive_bytes(child, data + 5, IPC_BYTES_MOST, IPC_FOREVER, &size), child);
			CHECK_EQUAL(size, sizes[i]);
			check_filled(data + 5, sizes[i], i);
			CHECK(!data[4] && !data[5 + sizes[i]]);
			madvise(data, IPC_BYTES_MOST + PAGE, MADV_DONTNEED);
		}
		CHECK_EQUAL(test_wait(child), 0);
	}
}

/* A caller whose message nobody receives: its receive buffer must not contain what it sent. */
static void nothing_arrives_without_an_answer(void)
{
	uint8_t *data = (uint8_t *)map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	uint8_t *answer = (uint8_t *)map_pages(16 * PAGE, PROT_READ | PROT_WRITE);
	struct ipc_buffers buffers = { data, 2 * PAGE, answer, 16 * PAGE };
	struct ipc_message message = { { 0 }, 0 };
	pid_t child = test_child(end_soon, NULL);

	fill(data, 2 * PAGE, 9);
	CHECK_EQUAL(ipc_invoke(IPC_CALL, child, &buffers, IPC_FOREVER, &message), -ESRCH);
	for (uint32_t i = 0; i < 16 * PAGE; i++)
		CHECK(!answer[i]);
	CHECK_EQUAL(test_wait(child), 0);
	child = test_child(send_number, (void *)1);
	CHECK_EQUAL(receive_bytes(child, answer, 16 * PAGE, IPC_FOREVER, &(uint32_t){ 0 }), child);
	for (uint32_t i = 0; i < 16 * PAGE; i++)
		CHECK(!answer[i]);
	CHECK_EQUAL(test_wait(child), 0);
}

static int echo_bytes(void *unused)
{
	uint8_t *data = (uint8_t *)map_pages(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);
	struct ipc_buffers buffers = { .send = data, .receive = data, .receive_size = IPC_BYTES_MOST };
	struct ipc_message message = { { 0 }, 0 };
	long client = IPC_ANYONE;

	(void)unused;
	for (;;) {
		client = ipc_invoke(IPC_REPLY_WAIT, client, &buffers, IPC_FOREVER, &message);
		CHECK(client > 0);
		buffers.send_size = message.size;
		for (uint32_t i = 0; i < message.size; i++)
			data[i] ^= 0x55;
	}
}

static void calls_carry_memory_both_ways(void)
{
	pid_t server = test_child(echo_bytes, NULL);
	uint8_t *data = (uint8_t *)map_pages(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);
	uint8_t *answer = (uint8_t *)map_pages(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);

	for (uint32_t i = 0; i < SIZES; i++) {
		struct ipc_buffers buffers = { data, sizes[i], answer, IPC_BYTES_MOST };
		struct ipc_message message = { { 0 }, 0 };

		fill(data, sizes[i], i);
		CHECK_EQUAL(ipc_invoke(IPC_CALL, server, &buffers, IPC_FOREVER, &message), server);
		CHECK_EQUAL(message.size, sizes[i]);
		for (uint32_t at = 0; at < sizes[i]; at++)
			answer[at] ^= 0x55;
		check_filled(answer, sizes[i], i);
		check_filled(data, sizes[i], i);
	}
	end_child(server);
}

static int send_page(void *from)
{
	CHECK_EQUAL(send_bytes(getppid(), from, PAGE, IPC_FOREVER), 0);
	return 0;
}

static void what_is_too_long_is_cut_off(void)
{
	uint8_t *data = (uint8_t *)map_pages(PAGE, PROT_READ | PROT_WRITE), got[100] = { 0 };
	struct ipc_message message = { { 0 }, 0 };
	uint32_t size;
	pid_t child;

	fill(data, PAGE, 3);
	for (int late = 0; late < 2; late++) {
		child = test_child(send_page, data);
		if (late)
			let_wait();
		CHECK_EQUAL(receive_bytes(child, got, 60, IPC_FOREVER, &size), child);
		CHECK_EQUAL(size, PAGE);
		check_filled(got, 60, 3);
		CHECK(!got[60]);
		CHECK_EQUAL(test_wait(child), 0);
		child = test_child(send_page, data);
		if (late)
			let_wait();
		CHECK_EQUAL(receive_words(child, IPC_FOREVER, &message), child);
		CHECK_EQUAL(message.size, PAGE);
		CHECK_EQUAL(test_wait(child), 0);
	}
	CHECK_EQUAL(send_bytes(getppid(), data, IPC_BYTES_MOST + 1, 0), -EMSGSIZE);
}

/* Two pages, the second of which is unmapped. */
static uint8_t *half_missing(void)
{
	uint8_t *data = (uint8_t *)map_pages(2 * PAGE, PROT_READ | PROT_WRITE);

	fill(data, PAGE, 4);
	MUST(munmap(data + PAGE, PAGE));
	return data;
}

static int send_bad_then_good(void *early)
{
	uint8_t *bad = half_missing();

	if (!early)
		let_wait();
	CHECK_EQUAL(send_bytes(getppid(), bad, 2 * PAGE, IPC_FOREVER), -EFAULT);
	CHECK_EQUAL(send_bytes(getppid(), bad, PAGE, IPC_FOREVER), 0);
	return 0;
}

static void a_bad_sender_does_not_disturb_the_receiver(void)
{
	uint8_t *data = (uint8_t *)map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	uint32_t size;

	for (int early = 0; early < 2; early++) {
		pid_t child = test_child(send_bad_then_good, early ? &early : NULL);

		if (early)
			let_wait();
		CHECK_EQUAL(receive_bytes(IPC_ANYONE, data, 2 * PAGE, IPC_FOREVER, &size), child);
		CHECK_EQUAL(size, PAGE);
		check_filled(data, PAGE, 4);
		CHECK_EQUAL(test_wait(child), 0);
	}
}

static int send_two_pages(void *early)
{
	uint8_t *data = (uint8_t *)map_pages(2 * PAGE, PROT_READ | PROT_WRITE);

	fill(data, 2 * PAGE, 5);
	if (!early)
		let_wait();
	CHECK_EQUAL(send_bytes(getppid(), data, 2 * PAGE, IPC_FOREVER), 0);
	return 0;
}

static void receivers_without_room_fault(void)
{
	uint8_t *readable = (uint8_t *)map_pages(2 * PAGE, PROT_READ), *bad[] = { half_missing(), readable, NULL };
	uint32_t size;

	for (int early = 0; early < 2; early++) {
		for (int i = 0; i < 3; i++) {
			pid_t child = test_child(send_two_pages, early ? &early : NULL);

			if (early)
				let_wait();
			CHECK_EQUAL(receive_bytes(child, bad[i], 2 * PAGE, IPC_FOREVER, &size), -EFAULT);
			CHECK_EQUAL(test_wait(child), 0);
		}
	}
	CHECK(!readable[0] && !readable[PAGE]);
	CHECK_EQUAL(receive_bytes(getppid(), (void *)0xbfffffff, PAGE, 0, &size), -EFAULT);
	CHECK_EQUAL(send_bytes(getppid(), (void *)0xc0000000, PAGE, 0), -EFAULT);
	CHECK_EQUAL(ipc_invoke(IPC_RECEIVE, 0, (void *)8, 0, &(struct ipc_message){ { 0 }, 0 }), -EFAULT);
}

/* Pages that parent and child share until one of them writes. */
static void copied_pages_stay_apart(void)
{
	uint8_t *data = (uint8_t *)map_pages(4 * PAGE, PROT_READ | PROT_WRITE);
	pid_t child;
	uint32_t size;

	fill(data, PAGE, 1);
	fill(data + 2 * PAGE, 2 * PAGE, 2);
	child = test_child(send_page, data + 2 * PAGE);
	CHECK_EQUAL(receive_bytes(child, data, PAGE, IPC_FOREVER, &size), child);
	CHECK_EQUAL(test_wait(child), 0);
	check_filled(data, PAGE, 2);
	child = test_child(send_page, data + 2 * PAGE);
	let_wait();
	fill(data + 2 * PAGE, PAGE, 6);
	CHECK_EQUAL(receive_bytes(child, data + 2 * PAGE + 100, PAGE, IPC_FOREVER, &size), child);
	CHECK_EQUAL(test_wait(child), 0);
	check_filled(data + 2 * PAGE, 100, 6);
	check_filled(data + 2 * PAGE + 100, PAGE, 2);
}

/* Both sides use the same segment number, the first one that a window takes. */
static int send_from_high(void *unused)
{
	uint8_t *data = mmap((void *)0xb0000000, 2 * PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	(void)unused;
	CHECK(data != MAP_FAILED);
	fill(data, 2 * PAGE, 7);
	CHECK_EQUAL(send_bytes(getppid(), data, 2 * PAGE, IPC_FOREVER), 0);
	check_filled(data, 2 * PAGE, 7);
	return 0;
}

static void windows_leave_their_segment_as_it_was(void)
{
	static const uint32_t places[] = { 0x20000000, 0x7ffff000, 0xb0000000 };

	for (int n = 0; n < 6; n++) {
		pid_t child = test_child(send_from_high, NULL);
		uint8_t *data = mmap((void *)places[n / 2], 3 * PAGE, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		uint32_t size;

		CHECK(data != MAP_FAILED);
		if (n % 2)
			let_wait();
		CHECK_EQUAL(receive_bytes(child, data + 9, 2 * PAGE, IPC_FOREVER, &size), child);
		check_filled(data + 9, 2 * PAGE, 7);
		CHECK(!data[8] && !data[2 * PAGE + 9]);
		CHECK_EQUAL(test_wait(child), 0);
		MUST(munmap(data, 3 * PAGE));
	}
}

static volatile long receiver_thread;
static uint8_t thread_data[3 * PAGE];

#define EIGHT 8u
#define EIGHT_ROUNDS 600
#define KERNEL ((void *)0xd0000000ul)   /* on every architecture of 32 bits */

static void on_alarm(int number)
{
	(void)number;
}

/* The address in a new mapping where, on an x86, one page table ends and another begins. */
static uint8_t *two_tables(void)
{
	uint8_t *data = (uint8_t *)map_pages((8ul << 20) + PAGE, PROT_READ | PROT_WRITE);

	return (uint8_t *)(((uintptr_t)data + (4ul << 20)) & ~((4ul << 20) - 1));
}

/* Answers a number of eight bytes, plus one, in a place that differs from time to time. */
static int adds_one(void *unused)
{
	uint8_t *border = two_tables();
	struct ipc_buffers buffers = { border + 2 * PAGE, EIGHT, border, EIGHT };
	struct ipc_message message = { { 0 }, 0 };
	long client = IPC_ANYONE;
	uint64_t number;

	(void)unused;
	for (uint32_t round = 0;; round++) {
		if (round % 25 == 24) {
			/* In one page, over the end of a page, over that of a page table. */
			buffers.receive = border + (round % 2 ? 5 : PAGE) - (round % 3 ? 8 : 4);
			if (round % 50 == 49)
				madvise(border - PAGE, 2 * PAGE, MADV_DONTNEED);
		}
		client = ipc_invoke(IPC_REPLY_WAIT, client > 0 ? client : IPC_ANYONE, &buffers, IPC_FOREVER,
				    &message);
		if (client < 0) {
			CHECK_EQUAL(client, -EAGAIN);   /* a signal has ended the caller's wait */
			continue;
		}
		CHECK_EQUAL(message.size, EIGHT);
		memcpy(&number, buffers.receive, EIGHT);
		number++;
		memcpy((void *)buffers.send, &number, EIGHT);
	}
	return 1;
}

static int ends(void *unused)
{
	(void)unused;
	return 0;
}

/* A signal may end a call before it faults. */
static void call_faults(pid_t server, const struct ipc_buffers *buffers)
{
	struct ipc_message message = { { 0 }, 0 };
	long result;

	do
		result = ipc_invoke(IPC_CALL, server, buffers, IPC_FOREVER, &message);
	while (result == -EINTR);
	CHECK_EQUAL(result, -EFAULT);
}

/* Between calls: the pages go, are shared with a child, may not be written, and the addresses are the kernel's. */
static void between_calls(uint32_t kind, pid_t server, struct ipc_buffers *buffers)
{
	struct ipc_buffers other = *buffers;
	uint8_t *page = (uint8_t *)((uintptr_t)buffers->receive & -PAGE);

	switch (kind) {
	case 1:
		madvise(page, PAGE, MADV_DONTNEED);
		break;
	case 2:
		CHECK_EQUAL(test_in_child(ends, NULL), 0);
		break;
	case 3:
		MUST(mprotect(page, PAGE, PROT_READ));
		call_faults(server, buffers);
		MUST(mprotect(page, PAGE, PROT_READ | PROT_WRITE));
		break;
	case 4:
		other.receive = KERNEL;
		call_faults(server, &other);
		break;
	case 5:
		other.send = KERNEL;
		call_faults(server, &other);
		break;
	case 6:
		call_faults(server, KERNEL);
		call_faults(server, (void *)-8l);
		break;
	case 7:
		buffers->receive = page + (buffers->receive == page ? PAGE - 4 : 0);
		break;
	case 8:
		other.send = (void *)8;
		call_faults(server, &other);
		break;
	}
}

/* Eight bytes there and back, whatever happens to the pages that they lie in, with signals that end waits. */
static void eight_bytes_arrive_whatever_happens(void)
{
	struct sigaction action = { .sa_handler = on_alarm };
	pid_t server = test_child(adds_one, NULL);
	uint8_t *data = (uint8_t *)map_pages(4 * PAGE, PROT_READ | PROT_WRITE);
	struct ipc_buffers buffers = { data, EIGHT, data + PAGE, EIGHT };

	MUST(sigaction(SIGALRM, &action, NULL));
	for (uint64_t round = 1; round <= EIGHT_ROUNDS; round++) {
		struct ipc_message message = { { 5, 6, 7 }, 0 };
		uint64_t number;
		long result;

		between_calls(round % 10 ? 0 : (uint32_t)round / 10 % 9, server, &buffers);
		if (round % 100 == 50)
			ualarm(500, 500);
		if (round % 100 == 70)
			ualarm(0, 0);
		number = round << 32 | (uint32_t)~round;
		memcpy((void *)buffers.send, &number, EIGHT);
		do {
			result = ipc_invoke(IPC_CALL, server, &buffers, IPC_FOREVER, &message);
		} while (result == -EINTR);
		CHECK_EQUAL(result, server);
		CHECK_EQUAL(message.size, EIGHT);
		memcpy(&number, buffers.receive, EIGHT);
		CHECK(number == (round << 32 | (uint32_t)~round) + 1);
	}
	end_child(server);
}

static void *receive_in_thread(void *unused)
{
	uint32_t size;
	long result;

	(void)unused;
	receiver_thread = syscall(SYS_gettid);
	result = receive_bytes(getpid(), thread_data, sizeof(thread_data), IPC_FOREVER, &size);
	return (void *)(result == getpid() ? (long)size : result);
}

static void threads_of_a_process(void)
{
	uint8_t *data = (uint8_t *)map_pages(2 * PAGE, PROT_READ | PROT_WRITE);
	pthread_t thread;
	void *result;

	fill(data, 2 * PAGE, 8);
	for (int late = 0; late < 2; late++) {
		receiver_thread = 0;
		memset(thread_data, 0, sizeof(thread_data));
		CHECK_EQUAL(pthread_create(&thread, NULL, receive_in_thread, NULL), 0);
		while (!receiver_thread)
			sched_yield();
		if (late)
			let_wait();
		CHECK_EQUAL(send_bytes(receiver_thread, data, 2 * PAGE, IPC_FOREVER), 0);
		CHECK_EQUAL(pthread_join(thread, &result), 0);
		CHECK_EQUAL((long)result, 2 * PAGE);
		check_filled(thread_data, 2 * PAGE, 8);
	}
}

/* Without segment registers, or with several processors, the kernel refuses a window, and the other choice stays. */
static void choose(const char *words)
{
	int file = (int)MUST(open("/proc/policy", O_WRONLY));
	ssize_t n = write(file, words, strlen(words));

	CHECK(n == (ssize_t)strlen(words) || (n == -1 && errno == ENODEV &&
			(access("/proc/mmu/segments", F_OK) == -1 || sysconf(_SC_NPROCESSORS_ONLN) > 1)));
	MUST(close(file));
}

/* A message may be sent under one choice of the policy and received under the other. */
static void a_change_of_policy_loses_nothing(void)
{
	static const char *const copy[] = { "ipc.copy=twice", "ipc.copy=window" };
	uint8_t *data = (uint8_t *)map_pages(IPC_BYTES_MOST, PROT_READ | PROT_WRITE);
	char text[4096], *was;
	int file = (int)MUST(open("/proc/policy", O_RDONLY)), windows;
	ssize_t n = MUST(read(file, text, sizeof(text) - 1));

	text[n] = '\0';
	MUST(close(file));
	was = strstr(text, "ipc.copy ");
	CHECK(was != NULL);
	windows = strncmp(was, "ipc.copy window", 15) == 0;
	for (int i = 0; i < 2; i++) {
		pid_t child;
		uint32_t size;

		choose(copy[i]);
		child = test_child(send_two_pages, "");
		let_wait();
		choose(copy[!i]);
		CHECK_EQUAL(receive_bytes(child, data, IPC_BYTES_MOST, IPC_FOREVER, &size), child);
		check_filled(data, 2 * PAGE, 5);
		CHECK_EQUAL(test_wait(child), 0);
	}
	choose(copy[windows]);
}

static const struct test_case cases[] = {
	CASE(memory_arrives),
	CASE(nothing_arrives_without_an_answer),
	CASE(calls_carry_memory_both_ways),
	CASE(what_is_too_long_is_cut_off),
	CASE(a_bad_sender_does_not_disturb_the_receiver),
	CASE(receivers_without_room_fault),
	CASE(copied_pages_stay_apart),
	CASE(windows_leave_their_segment_as_it_was),
	CASE(eight_bytes_arrive_whatever_happens),
	CASE(threads_of_a_process),
	CASE(a_change_of_policy_loses_nothing),
};

TEST_MAIN("ipc_memory", cases)
