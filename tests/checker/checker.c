/* checker: makes a fault that the kernel's invariant checker (check=on) must find.
 *
 *   checker <fault> here|later|busy|reload|threads
 *
 * Makes the fault in a page of its own (/proc/check). `here`: then does one harmless operation on that page. `later`:
 * then does operations on another page. `busy`: as `here`, while other processors run programs, wait for the kernel,
 * and have page faults. `reload`: as `busy`, but the others miss the hash table, which must be small (hash.size=least).
 * `threads`: unmaps a page again and again, which another thread reads on another processor; the fault `none` is none.
 * The kernel must panic, or the machine's sanitizer report; if it does not, this program reports that. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define PAGE 4096u

/* Loops that the machine's sanitizer needs to ask the kernel what a page is, when the kernel is done with it. */
#define WAIT 20000u

/* More operations than the checker allows between two complete checks. */
#define OPERATIONS 300u

static void make_fault(const char *name, const void *where)
{
	char words[64];
	int fd = open("/proc/check", O_WRONLY | O_CLOEXEC);
	int length = snprintf(words, sizeof(words), "%s %p", name, where);

	if (fd < 0 || write(fd, words, (size_t)length) != length)
		fprintf(stderr, "checker: /proc/check: %s: %s\n", words, strerror(errno));
	close(fd);
}

static void calculate(void)
{
	for (;;)
		__asm__ volatile("");
}

static void call(void)
{
	for (;;)
		getppid();
}

static void miss(void)
{
	enum { PAGES = 16 };
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (;;) {
		for (unsigned i = 0; i < PAGES; i++)
			*(volatile char *)(pages + i * PAGE) = 1;
		madvise(pages, PAGES * PAGE, MADV_DONTNEED);
	}
}

/* Reads more pages than a hash table of the least size holds: nearly every access misses it. */
static void reload(void)
{
	enum { PAGES = 10000 };
	const char *pages = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (;;)
		for (unsigned i = 0; i < PAGES; i++)
			(void)*(const volatile char *)(pages + i * PAGE);
}

/* A child for each processor but the first, which stays with the caller; returns when each has begun. */
static void keep_busy(bool reloading)
{
	static void (*const works[])(void) = { calculate, call, miss };
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	for (long number = 0; number < processors; number++) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(number, &set);
		if (number && fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		sched_setaffinity(0, sizeof(set), &set);
		if (number)
			reloading ? reload() : works[(number - 1) % 3]();
	}
	usleep(reloading ? 400000 : 30000);
}

static void *read_page(void *page)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(1, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (;;)
		(void)*(volatile char *)page;
	return NULL;
}

/* Each frame is free between madvise() and the next write, for some time without a system call. */
static void unmap_while_read(const char *fault, char *page)
{
	pthread_t reader;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	pthread_create(&reader, NULL, read_page, page);
	usleep(30000);
	if (strcmp(fault, "none") != 0)
		make_fault(fault, page);
	for (unsigned i = 0; i < OPERATIONS; i++) {
		*(volatile char *)page = 1;
		madvise(page, PAGE, MADV_DONTNEED);
		for (unsigned n = 0; n < WAIT; n++)
			__asm__ volatile("");
	}
}

int main(int argc, char **argv)
{
	/* Areas of one page each, with gaps that keep them from being joined. */
	char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *page = pages, *other = pages + 2 * PAGE;

	if (argc != 3 || pages == MAP_FAILED || munmap(pages + PAGE, PAGE) < 0) {
		fprintf(stderr, "usage: checker <fault> here|later|busy|reload|threads\n");
		return 2;
	}
	*(volatile char *)page = 1;
	if (strcmp(argv[1], "tree") == 0)
		mprotect(page, PAGE, PROT_READ);
	if (strcmp(argv[2], "busy") == 0 || strcmp(argv[2], "reload") == 0)
		keep_busy(strcmp(argv[2], "reload") == 0);
	if (strcmp(argv[2], "threads") == 0)
		unmap_while_read(argv[1], page);
	else
		make_fault(argv[1], page);
	/* Growing into the gap changes neither the page nor its entry. */
	if (strcmp(argv[2], "later") != 0)
		mremap(page, PAGE, 2 * PAGE, 0);
	else
		for (unsigned i = 0; i < OPERATIONS; i++) {
			/* Keep using the page through the entry that the TLB already has. */
			*(volatile char *)other = *(volatile char *)page;
			madvise(other, PAGE, MADV_DONTNEED);
		}
	printf("checker: %s: not found %s\n", argv[1], argv[2]);
	return 1;
}
