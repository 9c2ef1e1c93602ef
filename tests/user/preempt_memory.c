/* How long other tasks wait while one call, or the end of a process, changes or drops much memory. Uses guest time, so
 * only our kernel can pass. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/wait.h"

#define PAGE 4096u
#define MB (1u << 20)
#define SIZE (12u * MB)

static void *mapping;

static void exec_hello(void)
{
	execl("/bin/hello", "/bin/hello", NULL);
}

static void unmap_long(void)
{
	MUST(munmap(mapping, SIZE));
}

/* Memory of one process. ------------------------------------------------------------------------------------------- */

#define TABLES_SIZE (256u * 4 * MB)

static void private_memory(void)
{
	mapping = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	memset(mapping, 1, SIZE);
}

static void *sleep_in_thread(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void private_memory_of_two(void)
{
	pthread_t thread;

	private_memory();
	CHECK_EQUAL(pthread_create(&thread, NULL, sleep_in_thread, NULL), 0);
}

/* A page in each of many tables. */
static void many_tables(void)
{
	mapping = mmap(NULL, TABLES_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	for (size_t at = 0; at < TABLES_SIZE; at += 4 * MB)
		((char *)mapping)[at] = 1;
}

static void share_tables(const char *words)
{
	int fd = (int)MUST(open("/proc/policy", O_WRONLY));

	CHECK_EQUAL(write(fd, words, strlen(words)), (ssize_t)strlen(words));
	MUST(close(fd));
}

static void fork_once(void)
{
	const char *memory = mapping;
	pid_t child = (pid_t)MUST(fork());
	int status;

	if (child == 0)
		_exit(memory[0] == 1 && memory[SIZE - 4 * MB] == 1 ? 0 : 1);
	MUST(waitpid(child, &status, 0));
	CHECK_EQUAL(status, 0);
}

/* The child shares the parent's page tables. */
static void fork_sharing(void)
{
	share_tables("fork.tables=share");
	fork_once();
	share_tables("fork.tables=copy");
}

static void map_over_long(void)
{
	CHECK(mmap(mapping, SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapping);
	CHECK_EQUAL(*(char *)mapping, 0);
}

static void protect_long(void)
{
	MUST(mprotect(mapping, SIZE, PROT_READ));
	MUST(mprotect(mapping, SIZE, PROT_READ | PROT_WRITE));
}

static void discard_long(void)
{
	MUST(madvise(mapping, SIZE, MADV_DONTNEED));
	CHECK_EQUAL(*(char *)mapping, 0);
}

#define AREAS_SIZE (16u * MB)

/* Private mappings of one file of a megabyte, side by side: many areas, and few frames. */
static void many_areas(void)
{
	int file = (int)MUST(memfd_create("area", 0));

	for (unsigned at = 0; at < MB; at += PAGE)
		CHECK_EQUAL(pwrite(file, "\1", 1, at), 1);
	mapping = mmap(NULL, AREAS_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(mapping != MAP_FAILED);
	for (unsigned at = 0; at < AREAS_SIZE; at += MB)
		CHECK(mmap((char *)mapping + at, MB, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_POPULATE, file, 0) !=
		      MAP_FAILED);
	MUST(close(file));
}

static void unmap_areas(void)
{
	MUST(munmap(mapping, AREAS_SIZE));
}

static void discard_areas(void)
{
	MUST(madvise(mapping, AREAS_SIZE, MADV_DONTNEED));
}

#define SMALL_SIZE (16u * MB)

/* Areas of a page. */
static void small_areas(void)
{
	char *memory = mmap(NULL, SMALL_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	for (unsigned at = 0; at < SMALL_SIZE; at += 2 * PAGE) {
		memory[at] = 1;
		MUST(mprotect(memory + at, PAGE, PROT_READ));
	}
	mapping = memory;
}

static void unmap_small(void)
{
	MUST(munmap(mapping, SMALL_SIZE));
}

static void map_over_small(void)
{
	CHECK(mmap(mapping, SMALL_SIZE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapping);
}

static void protect_small(void)
{
	MUST(mprotect(mapping, SMALL_SIZE, PROT_READ | PROT_WRITE));
}

static void mark_small(void)
{
	MUST(madvise(mapping, SMALL_SIZE, MADV_DONTDUMP));
}

/* Copies one piece again and again. */
static void copy_foreign(void)
{
	static char data[MB];
	struct iovec from[SIZE / MB], to[SIZE / MB];

	for (unsigned i = 0; i < SIZE / MB; i++) {
		from[i] = (struct iovec){ (char *)mapping + i * MB, MB };
		to[i] = (struct iovec){ data, MB };
	}
	CHECK_EQUAL(process_vm_readv(getpid(), to, SIZE / MB, from, SIZE / MB, 0), SIZE);
}

static void unmap_tables(void)
{
	MUST(munmap(mapping, TABLES_SIZE));
}

static void read_maps(void)
{
	static char text[MB];
	int fd = (int)MUST(open("/proc/self/maps", O_RDONLY));

	CHECK(read(fd, text, sizeof(text)) > 4000 * 40);
	MUST(close(fd));
}

#define AREAS 16000u

/* Areas of a page without memory. */
static void empty_areas(void)
{
	char *memory = mmap(NULL, AREAS * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	CHECK(memory != MAP_FAILED);
	for (unsigned at = 0; at < AREAS; at += 2)
		MUST(mprotect(memory + at * PAGE, PAGE, PROT_READ));
}

static void read_all(const char *name)
{
	static char text[64 * 1024];
	int fd = (int)MUST(open(name, O_RDONLY));

	while (MUST(read(fd, text, sizeof(text))))
		;
	MUST(close(fd));
}

static void read_all_maps(void)
{
	read_all("/proc/self/maps");
}

static void read_status(void)
{
	read_all("/proc/self/status");
}

static void synchronise_small(void)
{
	MUST(msync(mapping, SMALL_SIZE, MS_SYNC));
}

/* Private mappings of a page of a file whose path is long. */
static void deep_areas(void)
{
	int file;

	MUST(mkdir(test_path("deeper"), 0700));
	MUST(chdir(test_path("deeper")));
	for (int i = 0; i < 1000; i++) {
		MUST(mkdir("d", 0700));
		MUST(chdir("d"));
	}
	file = (int)MUST(open("file", O_RDWR | O_CREAT, 0600));
	MUST(ftruncate(file, PAGE));
	for (int i = 0; i < 900; i++)
		CHECK(mmap(NULL, PAGE, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE, file, 0) != MAP_FAILED);
}

static void remove_deep_areas(void)
{
	MUST(unlink("file"));
	for (int i = 0; i < 1000; i++) {
		MUST(chdir(".."));
		MUST(rmdir("d"));
	}
}

static void leave_core(void)
{
	pid_t child;
	int status;

	MUST(setrlimit(RLIMIT_CORE, &(struct rlimit){ 2 * MB, 2 * MB }));
	child = (pid_t)MUST(fork());
	if (child == 0)
		raise(SIGQUIT);
	MUST(waitpid(child, &status, 0));
	CHECK(WCOREDUMP(status));
	MUST(unlink("core"));
}

static void leave_deep_core(void)
{
	leave_core();
	remove_deep_areas();
}

static const struct test_act acts[] = {
	{ "memory: fork", private_memory, fork_once },
	{ "memory: fork, tables shared", private_memory, fork_sharing },
	{ "memory: mmap over it", private_memory, map_over_long },
	{ "memory: mprotect", private_memory, protect_long },
	{ "memory: munmap", private_memory, unmap_long },
	{ "memory: madvise", private_memory, discard_long },
	{ "memory: process_vm_readv", private_memory, copy_foreign },
	{ "memory: exec", private_memory, exec_hello },
	{ "memory: the end", private_memory, NULL },
	{ "threads: mmap over it", private_memory_of_two, map_over_long },
	{ "threads: mprotect", private_memory_of_two, protect_long },
	{ "threads: munmap", private_memory_of_two, unmap_long },
	{ "threads: madvise", private_memory_of_two, discard_long },
	{ "areas: fork", many_areas, fork_once },
	{ "areas: munmap", many_areas, unmap_areas },
	{ "areas: madvise", many_areas, discard_areas },
	{ "areas: the end", many_areas, NULL },
	{ "small areas: fork", small_areas, fork_once },
	{ "small areas: munmap", small_areas, unmap_small },
	{ "small areas: mmap over them", small_areas, map_over_small },
	{ "small areas: mprotect", small_areas, protect_small },
	{ "small areas: madvise", small_areas, mark_small },
	{ "small areas: msync", small_areas, synchronise_small },
	{ "small areas: /proc/self/maps", small_areas, read_maps },
	{ "empty areas: /proc/self/maps", empty_areas, read_all_maps },
	{ "empty areas: /proc/self/status", empty_areas, read_status },
	{ "small areas: a core file", small_areas, leave_core },
	{ "deep areas: a core file", deep_areas, leave_deep_core },
	{ "small areas: the end", small_areas, NULL },
	{ "tables: fork, tables shared", many_tables, fork_sharing },
	{ "tables: fork", many_tables, fork_once },
	{ "tables: munmap", many_tables, unmap_tables },
	{ "tables: the end", many_tables, NULL },
};

WAIT_MAIN("preempt_memory", acts)
