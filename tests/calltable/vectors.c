/* Vectors of parts, some of which are bad, for files, pipes, sockets and devices. */
#define _GNU_SOURCE
#include "calltable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PARTS 4

/* Good memory with a page below and a page above that are not: `low` is not mapped, `high` is read-only. */
static char *good;

static void lay_out(void)
{
	arena_clear();
	good = ARENA + PAGE;
	must((long)mmap(good, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
	     "mmap");
	for (unsigned i = 0; i < 2 * PAGE; i++)
		good[i] = (char)('a' + i % 26);
	must(mprotect(good + PAGE, PAGE, PROT_READ), "mprotect");
}

static void pick_parts(struct iovec *parts, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		unsigned size = pick(4) ? 1 + pick(40) : 0;

		switch (pick(8)) {
		case 0:
			parts[i] = (struct iovec){ good - size, size };
			say(" none:%u", size);
			break;
		case 1:
			parts[i] = (struct iovec){ good - size / 2, size };
			say(" below:%u", size);
			break;
		case 2:
			parts[i] = (struct iovec){ good + PAGE + 100, size };
			say(" read-only:%u", size);
			break;
		case 3:
			parts[i] = (struct iovec){ good + PAGE - size / 2, size };
			say(" across:%u", size);
			break;
		case 4:
			if (pick(4) == 0) {
				long huge = ONE_OF(-1, INT_MIN, 0x7ffff000, INT_MAX);

				parts[i] = (struct iovec){ good, (size_t)huge };
				say(" good:%#lx", (unsigned long)huge);
				break;
			}
			/* fall through */
		default:
			parts[i] = (struct iovec){ good + 200 * (i + 1), size };
			say(" good:%u", size);
		}
	}
}

/* The two ends of something: [0] is read, [1] is written. */
static const char *const objects[] = {
	"file", "file", "pipe", "pipe", "stream", "stream", "datagram", "seqpacket", "null", "zero", "full", "reader",
};

static void open_ends(unsigned object, int *ends)
{
	const char *name = objects[object];

	if (strcmp(name, "pipe") == 0) {
		must(pipe2(ends, O_NONBLOCK), "pipe");
	} else if (strcmp(name, "stream") == 0) {
		must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), "socketpair");
	} else if (strcmp(name, "datagram") == 0) {
		must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends), "socketpair");
	} else if (strcmp(name, "seqpacket") == 0) {
		must(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, ends), "socketpair");
	} else if (strcmp(name, "file") == 0) {
		ends[0] = open("/tmp/calltable-vectors", O_RDWR | O_CREAT | O_TRUNC, 0600);
		ends[1] = dup(ends[0]);
	} else if (strcmp(name, "reader") == 0) {
		ends[0] = open("/tmp/calltable-vectors", O_RDWR | O_CREAT | O_TRUNC, 0600);
		ends[1] = open("/tmp/calltable-vectors", O_RDONLY);
	} else {
		char path[16];

		snprintf(path, sizeof(path), "/dev/%s", name);
		ends[0] = open(path, O_RDWR);
		ends[1] = dup(ends[0]);
	}
	must(ends[0], name);
	must(ends[1], name);
}

/* What has arrived: its number of bytes and a hash of them. */
static void tell_arrived(int fd, int is_file)
{
	char text[512];
	ssize_t got;

	if (is_file)
		must(lseek(fd, 0, SEEK_SET), "lseek");
	got = read(fd, text, sizeof(text));
	say(" then ");
	say_result(got);
	if (got > 0) {
		uint32_t hash = 0;

		for (ssize_t i = 0; i < got; i++)
			hash = hash * 31 + (unsigned char)text[i];
		say(":%x", (unsigned)hash);
	}
}

static void tell_memory(void)
{
	uint32_t hash = 0;

	for (unsigned i = 0; i < PAGE; i++)
		hash = hash * 31 + (unsigned char)good[i];
	say(" memory %x", (unsigned)hash);
}

void case_vectors(void)
{
	static const char filling[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.:,;-+*/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ.:,;-+*/";
	unsigned object = pick(sizeof(objects) / sizeof(objects[0])), count = 1 + pick(PARTS);
	int is_file = strcmp(objects[object], "file") == 0 || strcmp(objects[object], "reader") == 0, ends[2];
	struct iovec parts[PARTS];
	long result;

	lay_out();
	open_ends(object, ends);
	say("%s", objects[object]);
	pick_parts(parts, count);
	if (pick(16) == 0)
		count = (unsigned)ONE_OF(0, 1025, -1);
	switch (pick(is_file ? 4 : 2)) {
	case 0:
		say(" writev %d=", (int)count);
		result = syscall(SYS_writev, ends[1], pick(24) ? (void *)parts : (void *)16, count);
		say_result(result);
		tell_arrived(ends[0], is_file);
		break;
	case 1:
		if (objects[object][0] != 'r')
			(void)!write(ends[1], filling, 20 + pick(60));
		if (is_file)
			must(lseek(ends[0], 0, SEEK_SET), "lseek");
		say(" readv %d=", (int)count);
		result = syscall(SYS_readv, ends[0], pick(24) ? (void *)parts : (void *)16, count);
		say_result(result);
		tell_memory();
		if (is_file)
			say(" at %ld", (long)lseek(ends[0], 0, SEEK_CUR));
		else
			tell_arrived(ends[0], 0);
		break;
	case 2:
		say(" pwritev %d=", (int)count);
		result = (long)pwritev(ends[1], parts, (int)count, (off_t)pick(5));
		say_result(result);
		tell_arrived(ends[0], is_file);
		break;
	default:
		(void)!write(ends[1], filling, 20 + pick(60));
		say(" preadv %d=", (int)count);
		result = (long)preadv(ends[0], parts, (int)count, (off_t)pick(5));
		say_result(result);
		tell_memory();
	}
	close(ends[0]);
	close(ends[1]);
	unlink("/tmp/calltable-vectors");
	arena_clear();
}
