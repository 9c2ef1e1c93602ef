/* How long other tasks wait while a file with many locks or pages goes, or a path is long. Uses guest time, so only
 * our kernel can pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/rights.h"
#include "common/wait.h"

#define PAGE 4096u
#define MB (1u << 20)
#define SIZE (12u * MB)

static int one, pair[2];
static void *mapping;

static void close_one(void)
{
	MUST(close(one));
}

static void close_pair(void)
{
	MUST(close(pair[0]));
	MUST(close(pair[1]));
}

static void exec_hello(void)
{
	execl("/bin/hello", "/bin/hello", NULL);
}

/* Locks. Those of open file descriptions last until the last reference to the file goes. --------------------------- */

#define LOCKS 20000

static int locked_file(int command)
{
	struct flock lock = { .l_type = F_WRLCK, .l_len = 1 };
	int fd = (int)MUST(memfd_create("locks", 0));

	MUST(ftruncate(fd, PAGE));
	for (lock.l_start = 0; lock.l_start < 2 * LOCKS; lock.l_start += 2)
		MUST(fcntl(fd, command, &lock));
	return fd;
}

static void lock_as_process(void)
{
	one = locked_file(F_SETLK);
}

static void set_all_locks(short type)
{
	struct flock lock = { .l_type = type };

	MUST(fcntl(one, F_SETLK, &lock));
}

static void unlock_all(void)
{
	set_all_locks(F_UNLCK);
}

static void join_locks(void)
{
	set_all_locks(F_WRLCK);
}

static void lock_in_queue(void)
{
	socket_pair(SOCK_STREAM, pair);
	one = locked_file(F_OFD_SETLK);
	CHECK_EQUAL(send_files(pair[0], &one, 1), 1);
	MUST(close(one));
}

static void receive_without_room(void)
{
	char byte;

	CHECK_EQUAL(recv(pair[1], &byte, 1, 0), 1);
}

static void lock_mapped(void)
{
	one = locked_file(F_OFD_SETLK);
	mapping = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
	CHECK(mapping != MAP_FAILED);
	MUST(close(one));
}

static void unmap_page(void)
{
	MUST(munmap(mapping, PAGE));
}

static void map_over(void)
{
	CHECK(mmap(mapping, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapping);
}

/* Pages that only one file has. ------------------------------------------------------------------------------------ */

static int long_file(void)
{
	static char data[MB];
	int fd = (int)MUST(memfd_create("pages", 0));

	for (size_t done = 0; done < SIZE; done += sizeof(data))
		CHECK_EQUAL(write(fd, data, sizeof(data)), sizeof(data));
	return fd;
}

static void open_long(void)
{
	one = long_file();
}

static void truncate_one(void)
{
	MUST(ftruncate(one, 0));
}

static void long_in_queue(void)
{
	socket_pair(SOCK_STREAM, pair);
	one = long_file();
	CHECK_EQUAL(send_files(pair[0], &one, 1), 1);
	MUST(close(one));
}

static void long_mapped(void)
{
	one = long_file();
	mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, one, 0);
	CHECK(mapping != MAP_FAILED);
	MUST(close(one));
}

static void unmap_long(void)
{
	MUST(munmap(mapping, SIZE));
}

static void long_mapped_and_open(void)
{
	one = long_file();
	mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, one, 0);
	CHECK(mapping != MAP_FAILED);
}

static void mapped_often(void)
{
	one = long_file();
	for (int i = 0; i < 16; i++)
		CHECK(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, one, 0) != MAP_FAILED);
}

/* By more areas than a part of a truncation has pages. */
static void mapped_by_many(void)
{
	one = long_file();
	for (int i = 0; i < 100; i++)
		CHECK(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, one, 0) != MAP_FAILED);
}

static void zero_one(void)
{
	MUST(fallocate(one, FALLOC_FL_ZERO_RANGE, 0, SIZE));
}

/* Symbolic links with as many components as a text can have, each at the end of the one before. -------------------- */

static char far_link[16];

static void link_far(void)
{
	static char path[4096];

	MUST(mkdir(test_path("links"), 0700));
	MUST(chdir(test_path("links")));
	for (size_t i = 0; i < sizeof(path) - 5; i += 2)
		memcpy(path + i, "./", 2);
	strcpy(path + strlen(path) - 2, "/.");
	for (int i = 1; i <= 40; i++) {
		snprintf(far_link, sizeof(far_link), "%d", i);
		MUST(symlink(path, far_link));
		snprintf(path + strlen(path) - (i > 10 ? 2 : 1), 4, "%d", i);
	}
}

static void walk_far(void)
{
	struct stat status;

	MUST(stat(far_link, &status));
}

static void remove_deep_directory(void)
{
	MUST(mkdir(test_path("deep"), 0700));
	MUST(chdir(test_path("deep")));
	for (int i = 0; i < 1000; i++) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
	}
	one = (int)MUST(open(".", O_RDONLY | O_DIRECTORY));
	for (int i = 0; i < 1000; i++) {
		MUST(chdir(".."));
		MUST(rmdir("d"));
	}
}

static const struct test_act acts[] = {
	{ "process's locks: unlocked", lock_as_process, unlock_all },
	{ "process's locks: joined", lock_as_process, join_locks },
	{ "process's locks: close", lock_as_process, close_one },
	{ "process's locks: the end", lock_as_process, NULL },
	{ "locks: a closed socket's queue", lock_in_queue, close_pair },
	{ "locks: a receiver without room", lock_in_queue, receive_without_room },
	{ "locks: the end, from a queue", lock_in_queue, NULL },
	{ "locks: munmap", lock_mapped, unmap_page },
	{ "locks: mmap over a mapping", lock_mapped, map_over },
	{ "locks: exec", lock_mapped, exec_hello },
	{ "locks: the end, from a mapping", lock_mapped, NULL },
	{ "pages: close", open_long, close_one },
	{ "pages: ftruncate", open_long, truncate_one },
	{ "pages: zeroed", open_long, zero_one },
	{ "links: forty", link_far, walk_far },
	{ "pages: a closed socket's queue", long_in_queue, close_pair },
	{ "pages: munmap", long_mapped, unmap_long },
	{ "pages: the end, from a mapping", long_mapped, NULL },
	{ "pages: ftruncate, mapped", long_mapped_and_open, truncate_one },
	{ "pages: ftruncate, mapped often", mapped_often, truncate_one },
	{ "pages: ftruncate, mapped by many", mapped_by_many, truncate_one },
	{ "directories: close", remove_deep_directory, close_one },
};

WAIT_MAIN("preempt_file", acts)
