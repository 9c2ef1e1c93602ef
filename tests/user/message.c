/* POSIX message queues: order, priorities, waiting, names. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/check.h"

#define SIZE 16

static const char *queue_name(void)
{
	static char name[32];

	snprintf(name, sizeof(name), "/message-%d", (int)getpid());
	return name;
}

static mqd_t make(int flags, long count)
{
	struct mq_attr attributes = { .mq_maxmsg = count, .mq_msgsize = SIZE };

	mq_unlink(queue_name());	/* a failed run may have left it: queues outlive their makers */
	return (mqd_t)MUST(mq_open(queue_name(), O_CREAT | O_EXCL | O_RDWR | flags, 0600, &attributes));
}

static void receive_is(mqd_t queue, const char *text, unsigned int priority)
{
	char buffer[SIZE];
	unsigned int got = 99;

	CHECK_EQUAL(mq_receive(queue, buffer, sizeof(buffer), &got), (ssize_t)strlen(text));
	CHECK(memcmp(buffer, text, strlen(text)) == 0);
	CHECK_EQUAL(got, priority);
}

static void priorities_go_first(void)
{
	mqd_t queue = make(0, 8);
	struct mq_attr attributes;

	MUST(mq_send(queue, "low", 3, 1));
	MUST(mq_send(queue, "high", 4, 7));
	MUST(mq_send(queue, "high too", 8, 7));
	MUST(mq_send(queue, "", 0, 3));
	MUST(mq_getattr(queue, &attributes));
	CHECK_EQUAL(attributes.mq_curmsgs, 4);
	CHECK_EQUAL(attributes.mq_maxmsg, 8);
	CHECK_EQUAL(attributes.mq_msgsize, SIZE);
	receive_is(queue, "high", 7);
	receive_is(queue, "high too", 7);
	receive_is(queue, "", 3);
	receive_is(queue, "low", 1);
	MUST(mq_close(queue));
	MUST(mq_unlink(queue_name()));
}

static void names(void)
{
	mqd_t queue = make(0, 1), again;

	CHECK_ERROR(mq_open(queue_name(), O_CREAT | O_EXCL | O_RDWR, 0600, NULL), EEXIST);
	again = (mqd_t)MUST(mq_open(queue_name(), O_RDONLY));
	MUST(mq_send(queue, "kept", 4, 0));
	MUST(mq_unlink(queue_name()));
	CHECK_ERROR(mq_unlink(queue_name()), ENOENT);
	CHECK_ERROR(mq_open(queue_name(), O_RDONLY), ENOENT);
	MUST(mq_close(queue));
	/* A process that has the queue open keeps it after the name is gone. */
	receive_is(again, "kept", 0);
	CHECK_ERROR(mq_send(again, "x", 1, 0), EBADF);
	MUST(mq_close(again));
	CHECK_ERROR(mq_open("/", O_CREAT | O_RDWR, 0600, NULL), ENOENT);
	CHECK_ERROR(mq_open("/a/b", O_CREAT | O_RDWR, 0600, NULL), EACCES);
}

static void limits(void)
{
	mqd_t queue = make(O_NONBLOCK, 2);
	struct timespec past = { 0, 0 }, wrong = { 0, 1000000000 };
	struct mq_attr attributes = { .mq_maxmsg = 0, .mq_msgsize = SIZE };
	char buffer[SIZE + 1] = "";

	CHECK_ERROR(mq_receive(queue, buffer, SIZE, NULL), EAGAIN);
	CHECK_ERROR(mq_receive(queue, buffer, SIZE - 1, NULL), EMSGSIZE);
	CHECK_ERROR(mq_send(queue, buffer, SIZE + 1, 0), EMSGSIZE);
	CHECK_ERROR(mq_send(queue, buffer, 1, 32768), EINVAL);
	MUST(mq_send(queue, "1", 1, 0));
	MUST(mq_send(queue, "2", 1, 0));
	CHECK_ERROR(mq_send(queue, "3", 1, 0), EAGAIN);
	attributes.mq_flags = 0;
	MUST(mq_setattr(queue, &attributes, NULL));
	CHECK_ERROR(mq_timedsend(queue, "3", 1, 0, &past), ETIMEDOUT);
	CHECK_ERROR(mq_timedsend(queue, "3", 1, 0, &wrong), EINVAL);
	receive_is(queue, "1", 0);
	receive_is(queue, "2", 0);
	CHECK_ERROR(mq_timedreceive(queue, buffer, SIZE, NULL, &past), ETIMEDOUT);
	MUST(mq_close(queue));
	MUST(mq_unlink(queue_name()));
	CHECK_ERROR(mq_open(queue_name(), O_CREAT | O_RDWR, 0600, &attributes), EINVAL);
}

static int answer(void *argument)
{
	mqd_t queue = *(mqd_t *)argument;

	receive_is(queue, "question", 2);
	MUST(mq_send(queue, "answer", 6, 1));
	return 0;
}

static void between_processes(void)
{
	mqd_t queue = make(0, 1);
	pid_t child = test_child(answer, &queue);

	MUST(mq_send(queue, "question", 8, 2));
	CHECK_EQUAL(test_wait(child), 0);
	receive_is(queue, "answer", 1);
	MUST(mq_close(queue));
	MUST(mq_unlink(queue_name()));
}

static void polling(void)
{
	mqd_t queue = make(0, 1);
	struct pollfd asked = { .fd = (int)queue, .events = POLLIN | POLLOUT };

	CHECK_EQUAL(poll(&asked, 1, 0), 1);
	CHECK_EQUAL(asked.revents, POLLOUT);
	MUST(mq_send(queue, "x", 1, 0));
	CHECK_EQUAL(poll(&asked, 1, 0), 1);
	CHECK_EQUAL(asked.revents, POLLIN);
	MUST(mq_close(queue));
	MUST(mq_unlink(queue_name()));
}

static void status_line(void)
{
	mqd_t queue = make(0, 4);
	char line[128] = "";

	MUST(mq_send(queue, "twelve bytes", 12, 1));
	MUST(mq_send(queue, "more", 4, 1));
	CHECK(read((int)queue, line, sizeof(line) - 1) > 0);
	CHECK_EQUAL(strcmp(line, "QSIZE:16         NOTIFY:0     SIGNO:0     NOTIFY_PID:0     \n"), 0);
	CHECK_EQUAL(read((int)queue, line, sizeof(line)), 0);
	CHECK_EQUAL(lseek((int)queue, 6, SEEK_SET), 6);
	CHECK_EQUAL(read((int)queue, line, 2), 2);
	CHECK_EQUAL(line[0], '1');
	MUST(mq_close(queue));
	MUST(mq_unlink(queue_name()));
}

static const struct test_case cases[] = {
	CASE(status_line),
	CASE(priorities_go_first), CASE(names), CASE(limits), CASE(between_processes), CASE(polling),
};

TEST_MAIN("message", cases)
