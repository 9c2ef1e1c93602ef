/* /proc/policy and /proc/tlbmiss, which only our kernel has. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code.h"
#include "common/check.h"

#define PAGE 4096u
#define PAGES 300u

static int store(const char *path, const char *words)
{
	int fd = open(path, O_WRONLY);
	ssize_t n;

	MUST(fd);
	n = write(fd, words, strlen(words));
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 ? (int)n : 0;
}

static unsigned long long count(const char *path, const char *name)
{
	static char text[8192];
	const char *at;

	test_read_file(path, text, sizeof(text));
	at = strstr(text, name);
	CHECK(at != NULL);
	return strtoull(at + strlen(name), NULL, 10);
}

static void touch_pages(void)
{
	volatile char *where = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(where != MAP_FAILED);
	for (unsigned int i = 0; i < PAGES; i++)
		where[i * PAGE] = 1;
	MUST(munmap((void *)where, PAGES * PAGE));
}

static void touch_file(void)
{
	int fd = memfd_create("shared", 0);
	volatile char *where;

	MUST(fd);
	MUST(ftruncate(fd, PAGE));
	where = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(where != MAP_FAILED);
	where[0] = 1;
	MUST(munmap((void *)where, PAGE));
	MUST(close(fd));
}

static void misses_are_counted(void)
{
	static const char *const names[] = { "instruction_user ", "instruction_kernel ", "data_user ", "data_kernel " };
	const char *path = "/proc/tlbmiss";
	unsigned long long before;

	CHECK_EQUAL(store(path, "on\n"), 0);
	touch_pages();
	CHECK(count(path, "data_user ") >= PAGES);
	CHECK_EQUAL(store(path, "off\n"), 0);
	before = count(path, "data_user ");
	touch_pages();
	CHECK_EQUAL(count(path, "data_user "), before);
	CHECK_EQUAL(store(path, "0\n"), 0);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQUAL(count(path, names[i]), 0);
	CHECK_EQUAL(store(path, "17"), -EINVAL);
}

/* Runs code on a page that nobody has fetched from. */
static void run_new_page(void)
{
	uint32_t *code = mmap(NULL, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(code != MAP_FAILED);
	*code = MACHINE_RETURN;
	machine_code_written(code);
	((void (*)(void))code)();
	munmap(code, PAGE);
}

/* Work that depends on translation: forks, writes to shared pages, and passes a byte. */
static void work(void)
{
	static volatile char shared[8 * PAGE];
	int ends[2];
	char byte = 0;
	pid_t child;

	for (unsigned int i = 0; i < sizeof(shared); i += PAGE)
		shared[i] = (char)(i / PAGE);
	MUST(pipe(ends));
	child = fork();
	MUST(child);
	if (child == 0) {
		for (unsigned int i = 0; i < sizeof(shared); i += PAGE)
			shared[i] = (char)(shared[i] + 1);
		byte = shared[7 * PAGE];
		_exit(write(ends[1], &byte, 1) == 1 ? 0 : 1);
	}
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	CHECK_EQUAL(byte, 8);
	CHECK_EQUAL(test_wait(child), 0);
	for (unsigned int i = 0; i < sizeof(shared); i += PAGE)
		CHECK_EQUAL(shared[i], (char)(i / PAGE));
	MUST(close(ends[0]));
	MUST(close(ends[1]));
	touch_pages();
	touch_file();
	run_new_page();
	MUST(usleep(1000));     /* the idle task's turn */
}

/* Makes a value such as "scatter:21" from a choice such as "scatter:<multiplier>" and a number. */
static void with_number(const char *choice, int number, char *value)
{
	const char *open = strchr(choice, '<');

	if (open)
		sprintf(value, "%.*s%d", (int)(open - choice), choice, number);
	else
		strcpy(value, choice);
}

/* Sets every policy that can change to each of its choices and back, while programs run. */
static void policies_change_under_way(void)
{
	static char text[8192];
	char *line, *rest = text;

	test_read_file("/proc/policy", text, sizeof(text));
	while ((line = strsep(&rest, "\n")) && *line) {
		char name[64], now[64], words[160], value[64], *choices = strchr(line, '['), *end = strchr(line, ']'),
			*choice;
		int fits;

		CHECK(choices && end);
		CHECK_EQUAL(sscanf(line, "%63s %63s", name, now), 2);
		fits = strncmp(end, "] boot", 6) != 0;
		*end = '\0';
		choices++;
		while ((choice = strsep(&choices, " "))) {
			int error;

			/* A multiplier must be odd, a window must be a power of two. */
			static const int numbers[] = { 21, 8 };

			for (unsigned int i = 0; i < 2; i++) {
				with_number(choice, numbers[i], value);
				snprintf(words, sizeof(words), "%s=%s", name, value);
				error = store("/proc/policy", words);
				if (error != -EINVAL)
					break;
			}
			if (!fits)
				CHECK(error == -EBUSY || (error == 0 && strcmp(value, now) == 0));
			else
				CHECK(error == 0 || error == -ENODEV);
			work();
		}
		snprintf(words, sizeof(words), "%s=%s", name, now);
		CHECK_EQUAL(store("/proc/policy", words), 0);
		work();
	}
}

static volatile int spins, stop;

static void *spin(void *argument)
{
	(void)argument;
	for (spins = 1; !stop;)
		;
	return NULL;
}

/*
 * Another form of shootdown is chosen while a processor still owes the flushes of one that does not wait: the thread
 * that spins there enters the kernel only to answer.
 */
static void shootdown_changes_under_way(void)
{
	static const char *const forms[] = { "queue", "short", "lazy", "broadcast" };
	static char text[8192];
	char words[64], before[32];
	pthread_t thread;

	test_read_file("/proc/policy", text, sizeof(text));
	CHECK_EQUAL(sscanf(strstr(text, "shootdown "), "shootdown %31s", before), 1);
	if (store("/proc/policy", "shootdown=generation") == -ENODEV)
		return;
	CHECK_EQUAL(pthread_create(&thread, NULL, spin, NULL), 0);
	while (!spins)
		;
	for (unsigned int i = 0; i < 40; i++) {
		char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(at != MAP_FAILED);
		*at = 1;
		MUST(munmap(at, PAGE));
		snprintf(words, sizeof(words), "shootdown=%s", forms[i % 4]);
		store("/proc/policy", words);
		CHECK_EQUAL(store("/proc/policy", "shootdown=generation"), 0);
	}
	stop = 1;
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	snprintf(words, sizeof(words), "shootdown=%s", before);
	CHECK_EQUAL(store("/proc/policy", words), 0);
}

static void bad_words_are_refused(void)
{
	CHECK_EQUAL(store("/proc/policy", "no.such=1"), -ENOENT);
	CHECK_EQUAL(store("/proc/policy", "tlb.flush"), -EINVAL);
	CHECK_EQUAL(store("/proc/policy", "tlb.flush=never"), -EINVAL);
	CHECK_EQUAL(store("/proc/policy", "vsid=scatter:2"), -EINVAL);
	CHECK_EQUAL(store("/proc/policy", "vsid=scatter:"), -EINVAL);
}

static int touch_kernel(void *argument)
{
	(void)argument;
	return *(volatile int *)0xc0000000;
}

static unsigned long long kernel_misses(void)
{
	unsigned long long before = count("/proc/policy", "kernel_misses=");

	work();
	return count("/proc/policy", "kernel_misses=") - before;
}

/* Whether the kernel has pages that no large mapping covers. Assembly reloads those in each form of `reload`. */
static int kernel_pages_miss(void)
{
	static char text[8192];

	test_read_file("/proc/policy", text, sizeof(text));
	return strstr(text, "kernel.buffers mapped") != NULL;
}

/*
 * A large mapping of the kernel prevents TLB misses on its pages: a BAT, a 970's pages of 16 MB, or the pinned part of
 * RAM on an MPC8xx and a 405. Only BATs cover I/O too.
 */
static void kernel_misses_fall(void)
{
	static const char *const forms[][2] = {
		{ "kernel.map=bat+io", "kernel.map=pte" },
		{ "kernel.map=large", "kernel.map=pte" },
		{ "pin=ram", "pin=off" },
	};
	unsigned long long few, many;
	unsigned int form = 0;

	while (form < 2 && store("/proc/policy", forms[form][0]) == -ENODEV)
		form++;
	CHECK_EQUAL(store("/proc/policy", forms[form][0]), 0);
	few = kernel_misses();
	CHECK_EQUAL(store("/proc/policy", forms[form][1]), 0);
	many = kernel_misses();
	CHECK(many > 0 && (form || kernel_pages_miss() ? few < many : few == 0));
}

/* Policies' counters increase while misses are counted. */
static void counters_move(void)
{
	unsigned long long before;

	CHECK_EQUAL(store("/proc/tlbmiss", "on"), 0);
	CHECK_EQUAL(store("/proc/policy", "reload=c"), 0);
	before = count("/proc/policy", "asm_reloads=");
	work();
	if (!kernel_pages_miss())
		CHECK_EQUAL(count("/proc/policy", "asm_reloads="), before);
	CHECK_EQUAL(store("/proc/policy", "reload=asm"), 0);
	work();
	CHECK(count("/proc/policy", "asm_reloads=") > before);
	kernel_misses_fall();
	CHECK_EQUAL(store("/proc/tlbmiss", "off"), 0);
	CHECK_EQUAL(store("/proc/policy", "reload=c"), 0);
}

/* A smaller hash table is chosen at boot only. */
static void hash_size_is_as_chosen(void)
{
	static char text[8192];

	test_read_file("/proc/policy", text, sizeof(text));
	CHECK_EQUAL(count("/proc/policy", "bytes_unused=") > 0, strstr(text, "hash.size least") != NULL);
}

/* A ready queue that holds more than the threads that wait is chosen at boot only. */
static void ready_queue_is_as_chosen(void)
{
	static char text[8192];

	work();
	test_read_file("/proc/policy", text, sizeof(text));
	CHECK_EQUAL(count("/proc/policy", "blocked=") > 0, strstr(text, "ready.queue waiting") == NULL);
}

/*
 * The forms of old kernels act, and the counting of copies does: their counters move. -ENODEV: not on this processor.
 */
static void old_forms_act(void)
{
	static const struct {
		const char *words, *counter, *back;
	} forms[] = {
		{ "return.flush=caches", "returns_flushed=", "return.flush=none" },
		{ "switch.flush=tlb+caches", " flushed=", "switch.flush=none" },
		{ "switch.flush=tlb", " flushed=", "switch.flush=none" },
		{ "unmap.flush=twice", "repeated=", "unmap.flush=once" },
		{ "icache.flush=twice", "flushes_changed=", "icache.flush=mapping" },
		{ "icache.flush=every", "flushes_changed=", "icache.flush=mapping" },
		{ "icache.flush=exec", "flushes_changed=", "icache.flush=mapping" },
		{ "icache.flush=page", "flushes_changed=", "icache.flush=mapping" },
		{ "idle.cache=off idle.clear=cached", "careful_runs=", "idle.cache=normal idle.clear=off" },
		{ "copy.count=on", "counted=", "copy.count=off" },
		{ "copy=doubleword", "long_copies=", "copy=words" },
		{ "copy=doubleword6", "long_copies=", "copy=words" },
		{ "reload=c-insert", "asm_reloads=", "reload=c" },
	};
	unsigned int most = sizeof(forms) / sizeof(forms[0]) - (kernel_pages_miss() ? 1 : 0);

	CHECK_EQUAL(store("/proc/tlbmiss", "on"), 0);
	for (unsigned int i = 0; i < most; i++) {
		int error = store("/proc/policy", forms[i].words);
		unsigned long long before = count("/proc/policy", forms[i].counter);

		CHECK(error == 0 || error == -ENODEV);
		work();
		CHECK_EQUAL(count("/proc/policy", forms[i].counter) > before, error == 0);
		CHECK_EQUAL(store("/proc/policy", forms[i].back), 0);
		before = count("/proc/policy", forms[i].counter);
		work();
		CHECK_EQUAL(count("/proc/policy", forms[i].counter), before);
	}
	CHECK_EQUAL(store("/proc/tlbmiss", "off"), 0);
}

#define FLUSHED 8u

static int end_at_once(void *nothing)
{
	(void)nothing;
	return 0;
}

static void access_pages(volatile char *where, bool write)
{
	for (unsigned int i = 0; i < FLUSHED; i++)
		if (write)
			where[i * PAGE] = 1;
		else
			(void)where[i * PAGE];
}

/* How many pages are flushed when a page of a file is read first, and when an own page is written after a fork. */
static void count_flushes(const char *choice, unsigned long long *of_file, unsigned long long *of_own)
{
	int fd = memfd_create("pages", 0);
	volatile char *file, *own;

	MUST(fd);
	MUST(ftruncate(fd, FLUSHED * PAGE));
	file = mmap(NULL, FLUSHED * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	own = mmap(NULL, FLUSHED * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(file != MAP_FAILED && own != MAP_FAILED);
	CHECK_EQUAL(store("/proc/policy", choice), 0);
	*of_file = count("/proc/policy", "flushes_changed=");
	access_pages(file, false);
	*of_file = count("/proc/policy", "flushes_changed=") - *of_file;
	access_pages(own, true);
	CHECK_EQUAL(test_in_child(end_at_once, NULL), 0);
	*of_own = count("/proc/policy", "flushes_changed=");
	access_pages(own, true);
	*of_own = count("/proc/policy", "flushes_changed=") - *of_own;
	CHECK_EQUAL(store("/proc/policy", "icache.flush=mapping"), 0);
	MUST(munmap((void *)file, FLUSHED * PAGE));
	MUST(munmap((void *)own, FLUSHED * PAGE));
	MUST(close(fd));
}

/* 2.4 flushed a file's page twice, and no page that is only made writable; 2.0.4 flushed once at each fault. */
static void pages_are_flushed_as_linux_did(void)
{
	unsigned long long of_file, of_own;

	count_flushes("icache.flush=twice", &of_file, &of_own);
	CHECK(of_file >= 2 * FLUSHED && of_own < FLUSHED);
	count_flushes("icache.flush=every", &of_file, &of_own);
	CHECK(of_file >= FLUSHED && of_file < 2 * FLUSHED && of_own >= FLUSHED);
}

/*
 * A page that was mapped, but not fetched from, while the permission to fetch was withheld, is ready once another
 * choice no longer withholds it. The fetch sanitizer would report a stale line.
 */
static void pages_are_ready_after_exec(void)
{
	static const uint32_t code[] = { 0x3860002a, 0x4e800020 };      /* li 3, 42; blr */
	int error = store("/proc/policy", "icache.flush=exec"), fd;
	uint32_t *page;

	CHECK(error == 0 || error == -ENODEV);
	fd = MUST(open("/tmp/code", O_RDWR | O_CREAT | O_TRUNC, 0700));
	CHECK_EQUAL(write(fd, code, sizeof(code)), sizeof(code));
	page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQUAL(*(volatile uint32_t *)page, code[0]);
	CHECK_EQUAL(store("/proc/policy", "icache.flush=mapping"), 0);
	CHECK_EQUAL(((int (*)(void))page)(), 42);
	munmap(page, 4096);
	close(fd);
	unlink("/tmp/code");
}

static int read_then_run(void *page)
{
	uint32_t word = *(volatile uint32_t *)page;
	int result;

	alarm(2);       /* a fetch that is refused for ever ends by this */
	raise(SIGSTOP);
	result = ((int (*)(void))page)();
	return word ? result : 0;
}

/* One of two processes that share page tables gets the permission to fetch, after the other one has read the page. */
static void permission_to_fetch_with_shared_tables(void)
{
	static const uint32_t code[] = { 0x3860002a, 0x4e800020 };      /* li 3, 42; blr */
	int error = store("/proc/policy", "icache.flush=exec"), fd, status;
	uint32_t *page;
	pid_t child;

	CHECK(error == 0 || error == -ENODEV);
	CHECK_EQUAL(store("/proc/policy", "fork.tables=share"), 0);
	/* Where a 405's kernel needs few entries of the TLB, the other process keeps its own. */
	(void)store("/proc/policy", "kernel.map=large");
	(void)store("/proc/policy", "pin=ram");
	fd = MUST(open("/tmp/code", O_RDWR | O_CREAT | O_TRUNC, 0700));
	CHECK_EQUAL(write(fd, code, sizeof(code)), sizeof(code));
	page = mmap((void *)0x40000000, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, 0);
	CHECK(page != MAP_FAILED);
	CHECK_EQUAL(*(volatile uint32_t *)page, code[0]);
	child = test_child(read_then_run, page);
	CHECK_EQUAL(waitpid(child, &status, WUNTRACED), child);
	CHECK_EQUAL(((int (*)(void))page)(), 42);
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(test_wait(child), 42);
	CHECK_EQUAL(store("/proc/policy", "pin=off"), 0);
	CHECK_EQUAL(store("/proc/policy", "kernel.map=pte"), 0);
	CHECK_EQUAL(store("/proc/policy", "fork.tables=copy"), 0);
	CHECK_EQUAL(store("/proc/policy", "icache.flush=mapping"), 0);
	munmap(page, 4096);
	close(fd);
	unlink("/tmp/code");
}

/*
 * On an MPC8xx and a 405 pinned entries are still there after the TLBs have been emptied. Other processors cannot pin.
 */
static void pinned_entries_stay(void)
{
	int one_tlb = !strcmp((const char *)getauxval(AT_PLATFORM), "ppc405");
	const char *entry = one_tlb ? "63 c0000000 16384 KB -> 00000000 kernel writable pinned\n" :
				      "I 28 c0000000 8192 KB -> 00000000 kernel pinned\n";
	static char text[8192];

	if (access("/proc/mmu/tlb", F_OK)) {
		CHECK_EQUAL(store("/proc/policy", "pin=base"), -ENODEV);
		return;
	}
	CHECK_EQUAL(store("/proc/policy", "pin=off"), 0);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(strstr(text, one_tlb ? "kernel writable\n" : "kernel\n"));
	CHECK(strstr(text, " user ") && !strstr(text, "pinned"));
	CHECK_EQUAL(store("/proc/policy", "pin=base"), 0);
	CHECK_EQUAL(store("/proc/mmu/tlb", "0"), 0);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(strstr(text, entry));
	/* A program's access to the page fails, and does not remove the entry. */
	CHECK_EQUAL(test_in_child(touch_kernel, NULL), 1000 + SIGSEGV);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(strstr(text, entry) && (one_tlb || strstr(text, "D 28 c0000000 8192 KB")));
	CHECK_EQUAL(store("/proc/policy", "pin=off"), 0);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(!strstr(text, "pinned"));
}

/* A value that the processor cannot have leaves the one before in force: here pages of 16 MB, which a 405 shows. */
static void what_is_refused_changes_nothing(void)
{
	static char text[8192];

	if (store("/proc/policy", "kernel.map=large") == -ENODEV)
		return;
	CHECK_EQUAL(store("/proc/policy", "kernel.map=bat"), -ENODEV);
	if (access("/proc/mmu/tlb", F_OK) == 0) {
		test_read_file("/proc/mmu/tlb", text, sizeof(text));
		CHECK(strstr(text, "16384 KB"));
	}
	CHECK_EQUAL(store("/proc/policy", "kernel.map=pte"), 0);
}

/*
 * Copies `size` bytes to and from the program, of which the page behind `end` leaves only `whole`: exactly these must
 * arrive. The bytes in front of the target must stay.
 */
static void copy_up_to(int fd, char *end, unsigned int whole, unsigned int size, unsigned int from)
{
	char *start = end - whole;

	memset(start - 64, 0x55, whole + 64);
	CHECK_EQUAL(pread(fd, start, size, from), whole);
	for (unsigned int i = 0; i < whole; i++)
		CHECK_EQUAL((unsigned char)start[i], (from + i) % 251);
	for (unsigned int i = 1; i <= 64; i++)
		CHECK_EQUAL(start[-(int)i], 0x55);
	CHECK_EQUAL(pwrite(fd, start, size, from), whole);
}

static const char *const copy_forms[] = { "copy=lines", "copy=ahead", "copy=doubleword", "copy=doubleword6",
					  "copy=words" };
#define COPY_FORMS (sizeof(copy_forms) / sizeof(copy_forms[0]))

/* Each form of copying stops at the first byte that it cannot reach, however both sides lie to cache lines. */
static void copies_stop_at_faults(void)
{
	static unsigned char pattern[4 * PAGE];
	char *end = (char *)mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) + 3 * PAGE;
	int fd = (int)MUST(memfd_create("pattern", 0));

	MUST(mprotect(end, PAGE, PROT_NONE));
	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i % 251);
	for (unsigned int form = 0; form < COPY_FORMS; form++) {
		int error = store("/proc/policy", copy_forms[form]);

		CHECK(error == 0 || error == -ENODEV);
		MUST(pwrite(fd, pattern, sizeof(pattern), 0));
		for (unsigned int whole = 120; whole < 330; whole += 7)
			for (unsigned int from = 0; from < 40; from += 13)
				copy_up_to(fd, end, whole, whole + 500, from);
		copy_up_to(fd, end, PAGE + 24, 2 * PAGE, 8);
		copy_up_to(fd, end, 24, 24, 100);
	}
	MUST(close(fd));
}

enum { COPIED = 5 };

/* Copies untouched pages, from `from` bytes behind the start of one to `to` bytes behind the start of another. */
static void copy_untouched(int fd, int other, unsigned int from, unsigned int to)
{
	unsigned int size = COPIED * PAGE - from;
	char *source = mmap(NULL, COPIED * PAGE, PROT_READ, MAP_PRIVATE, fd, 0);
	char *target = mmap(NULL, (COPIED + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(source != MAP_FAILED && target != MAP_FAILED);
	CHECK_EQUAL(pwrite(other, source + from, size, 0), size);
	CHECK_EQUAL(pread(other, target + to, size, 0), size);
	for (unsigned int i = 0; i < size; i++)
		CHECK_EQUAL((unsigned char)target[to + i], (from + i) % 251);
	for (unsigned int i = 0; i < to; i++)
		CHECK_EQUAL(target[i], 0);
	MUST(munmap(source, COPIED * PAGE));
	MUST(munmap(target, (COPIED + 1) * PAGE));
}

/* Each form goes on after a fault that was served in its middle, however both sides lie to doublewords. */
static void copies_go_on_after_faults(void)
{
	static const unsigned int offsets[] = { 0, 1, 6, 8, 131 };
	static unsigned char pattern[COPIED * PAGE];
	int fd = (int)MUST(memfd_create("pattern", 0)), other = (int)MUST(memfd_create("copy", 0));

	for (unsigned int i = 0; i < sizeof(pattern); i++)
		pattern[i] = (unsigned char)(i % 251);
	MUST(pwrite(fd, pattern, sizeof(pattern), 0));
	for (unsigned int form = 0; form < COPY_FORMS; form++) {
		int error = store("/proc/policy", copy_forms[form]);

		CHECK(error == 0 || error == -ENODEV);
		for (unsigned int from = 0; from < sizeof(offsets) / sizeof(offsets[0]); from++)
			for (unsigned int to = 0; to < sizeof(offsets) / sizeof(offsets[0]); to++)
				copy_untouched(fd, other, offsets[from], offsets[to]);
	}
	MUST(close(fd));
	MUST(close(other));
}

/* Notes of slots that were made before notes were switched off are no entries, whoever removes the pages. */
static void old_notes_are_no_entries(void)
{
	volatile char *where = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int error = store("/proc/policy", "hpte.slot=noted");

	CHECK(where != MAP_FAILED);
	CHECK(error == 0 || error == -ENODEV);
	for (unsigned int i = 0; i < PAGES; i++)
		where[i * PAGE] = 1;
	if (error == 0)
		CHECK_EQUAL(store("/proc/policy", "hpte.slot=search"), 0);
	CHECK_EQUAL(store("/proc/policy", "pte.update=batch"), 0);
	MUST(madvise((void *)where, PAGES * PAGE, MADV_DONTNEED));
	CHECK_EQUAL(store("/proc/policy", "pte.update=range"), 0);
	for (unsigned int i = 0; i < PAGES; i += 2)
		CHECK_EQUAL(where[i * PAGE], 0);
	for (unsigned int i = 0; i < PAGES; i++) {
		where[i * PAGE] = 2;
		CHECK_EQUAL(where[i * PAGE], 2);
	}
	MUST(munmap((void *)where, PAGES * PAGE));
}

static int touch(void *page)
{
	return *(volatile char *)page;
}

static unsigned long long mapped_by(volatile char *page)
{
	unsigned long long before = count("/proc/policy", "mapped_around=");

	(void)*page;
	return count("/proc/policy", "mapped_around=") - before;
}

/* A fault maps the pages of its window that the file has in memory, in this area only, and no private page writable. */
static void faults_map_around(void)
{
	enum { WINDOW = 16, ALL = 5 * WINDOW, HOLE = 37, LAST = 70 };
	int fd = (int)MUST(memfd_create("around", 0));
	char *room = mmap(NULL, 2 * ALL * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *where = (char *)(((unsigned long)room + WINDOW * PAGE - 1) & -(unsigned long)(WINDOW * PAGE)), byte;
	unsigned long long before;

	for (char page = 0; page < LAST; page++)
		if (page != HOLE)
			MUST(pwrite(fd, &page, 1, page * PAGE));
	CHECK(mmap(where, ALL * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == where);
	CHECK_EQUAL(store("/proc/policy", "fault.around=3"), -EINVAL);
	CHECK_EQUAL(store("/proc/policy", "fault.around=128"), -EINVAL);
	CHECK_EQUAL(store("/proc/policy", "fault.around=16"), 0);
	MUST(mprotect(where + 3 * PAGE, PAGE, PROT_NONE));
	/* The table is there from now on, and the program's own pages that the test needs. */
	for (int i = 0; i < 2; i++)
		(void)mapped_by(where + 4 * WINDOW * PAGE);
	CHECK_EQUAL(mapped_by(where + 8 * PAGE), WINDOW - 1 - 4);
	CHECK_EQUAL(mapped_by(where + 9 * PAGE), 0);
	CHECK_EQUAL(mapped_by(where + 1 * PAGE), 2);
	CHECK_EQUAL(mapped_by(where + 36 * PAGE), WINDOW - 2);
	CHECK_EQUAL(mapped_by(where + HOLE * PAGE), 0);
	/* A write maps nothing around, copies its page, and leaves the file alone. */
	before = count("/proc/policy", "mapped_around=");
	where[20 * PAGE] = 1;
	CHECK_EQUAL(count("/proc/policy", "mapped_around="), before);
	where[9 * PAGE] = 1;
	MUST(pread(fd, &byte, 1, 9 * PAGE));
	CHECK_EQUAL(byte, 9);
	for (int page = 0; page < LAST; page++)
		if (page != 3)
			CHECK_EQUAL(where[page * PAGE], page == 20 || page == 9 ? 1 : page == HOLE ? 0 : page);
	/* What is mapped goes with the file's end. */
	MUST(ftruncate(fd, 34 * PAGE));
	CHECK_EQUAL(where[33 * PAGE], 33);
	CHECK_EQUAL(test_in_child(touch, where + 34 * PAGE), 1000 + SIGBUS);
	CHECK_EQUAL(store("/proc/policy", "fault.around=off"), 0);
	MUST(madvise(where, 2 * PAGE, MADV_DONTNEED));
	CHECK_EQUAL(mapped_by(where), 0);
	MUST(munmap(room, 2 * ALL * PAGE));
	MUST(close(fd));
}

enum { LONG = 1024 * PAGE };

static unsigned long long contexts_of_unmapping(int fd, int flags)
{
	char *where = mmap(NULL, LONG, PROT_READ, flags, fd, 0);
	unsigned long long before;

	CHECK(where != MAP_FAILED);
	CHECK_EQUAL(where[LONG / 2], 0);
	before = count("/proc/policy", "ranges_cut=");
	MUST(munmap(where, LONG));
	return count("/proc/policy", "ranges_cut=") - before;
}

static unsigned long long contexts_of_fork(int unused, int pages)
{
	static char *where;
	unsigned long long before;

	(void)unused;
	if (!where)
		where = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(where != MAP_FAILED);
	for (int i = 0; i < pages; i++)
		where[(size_t)i * PAGE] = 1;
	before = count("/proc/policy", "contexts_renewed=");
	CHECK_EQUAL(test_in_child(touch, where), 1);
	return count("/proc/policy", "contexts_renewed=") - before;
}

/* The least of some tries: whoever waits to run makes a call flush once more. */
static unsigned long long least(unsigned long long (*contexts)(int fd, int flags), int fd, int flags)
{
	unsigned long long best = contexts(fd, flags);

	for (unsigned int i = 0; i < 4 && best > 1; i++) {
		unsigned long long again = contexts(fd, flags);

		best = again < best ? again : best;
	}
	return best;
}

/*
 * Unmapping 4 MB goes in parts, but one new context, or two with unmap.flush=twice, flushes all of them. So does a fork
 * that copies 8 MB. Several processors clear the entries of each part before they flush it.
 */
static void long_ranges_are_flushed_once(void)
{
	int fd = (int)MUST(memfd_create("long", 0));

	if (sysconf(_SC_NPROCESSORS_ONLN) == 1) {
		MUST(ftruncate(fd, LONG));
		CHECK_EQUAL(store("/proc/policy", "tlb.cutoff=20"), 0);
		CHECK_EQUAL(least(contexts_of_unmapping, fd, MAP_SHARED), 1);
		CHECK_EQUAL(store("/proc/policy", "unmap.flush=twice"), 0);
		CHECK_EQUAL(least(contexts_of_unmapping, fd, MAP_SHARED), 2);
		CHECK_EQUAL(least(contexts_of_unmapping, fd, MAP_PRIVATE), 1);
		CHECK_EQUAL(store("/proc/policy", "tlb.cutoff=off unmap.flush=once tlb.flush=lazy"), 0);
		CHECK_EQUAL(least(contexts_of_fork, fd, 2 * LONG / PAGE), 1);
		CHECK_EQUAL(store("/proc/policy", "tlb.flush=search"), 0);
	}
	MUST(close(fd));
}

enum { STREAMED = 65536 };

static int receive_all(void *socket)
{
	static unsigned char got[STREAMED];
	unsigned int sum = 0;

	for (size_t left = STREAMED; left;) {
		ssize_t n = MUST(read(*(int *)socket, got, left));

		for (ssize_t i = 0; i < n; i++)
			sum += got[i];
		left -= (size_t)n;
	}
	return sum == STREAMED / 256 * (255 * 256 / 2) ? 0 : 1;
}

/*
 * A long write to a socket goes page by page to a reader that waits, or as a whole, with the same bytes. On several
 * processors the reader may still read one page when the next is written; then the rest goes as a whole.
 */
static void sockets_hand_over(void)
{
	static const char *const forms[] = { "stream.transfer=buffer", "stream.transfer=page" };
	static unsigned char bytes[STREAMED];
	int ends[2];

	for (unsigned int i = 0; i < STREAMED; i++)
		bytes[i] = (unsigned char)i;
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	for (unsigned int form = 0; form < 2; form++) {
		unsigned long long before;
		pid_t reader;

		CHECK_EQUAL(store("/proc/policy", forms[form]), 0);
		before = count("/proc/policy", "streamed_whole=");
		reader = test_child(receive_all, &ends[1]);
		MUST(usleep(20000)); /* the reader waits */
		CHECK_EQUAL(write(ends[0], bytes, STREAMED), STREAMED);
		CHECK_EQUAL(test_wait(reader), 0);
		if (form == 0 || sysconf(_SC_NPROCESSORS_ONLN) == 1)
			CHECK_EQUAL(count("/proc/policy", "streamed_whole=") > before, form == 0);
	}
	MUST(close(ends[0]));
	MUST(close(ends[1]));
}

#define ALL_MEMORY (1u << 30)

static int use_all_memory(void *soon)
{
	char *memory = mmap(NULL, ALL_MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
			    0);

	nanosleep(soon, NULL);
	for (size_t at = 0; memory != MAP_FAILED && at < ALL_MEMORY; at += PAGE)
		memory[at] = 1;
	return 0;
}

/* Memory runs out while the idle task has cleared a part of a frame, which it keeps. */
static void memory_ends_while_idle_clears(void)
{
	MUST(store("/proc/policy", "idle.clear=cached"));
	for (long us = 20; us < 200; us += 50) {
		struct timespec soon = { 0, us * 1000 };

		CHECK_EQUAL(test_in_child(use_all_memory, &soon), 1000 + SIGKILL);
	}
	MUST(store("/proc/policy", "idle.clear=off"));
}

static const struct test_case cases[] = {
	CASE(misses_are_counted), CASE(policies_change_under_way), CASE(shootdown_changes_under_way),
	CASE(bad_words_are_refused), CASE(counters_move),
	CASE(old_forms_act), CASE(pages_are_flushed_as_linux_did), CASE(pages_are_ready_after_exec),
	CASE(hash_size_is_as_chosen),
	CASE(permission_to_fetch_with_shared_tables),
	CASE(ready_queue_is_as_chosen), CASE(pinned_entries_stay), CASE(what_is_refused_changes_nothing),
	CASE(copies_stop_at_faults), CASE(copies_go_on_after_faults), CASE(old_notes_are_no_entries),
	CASE(faults_map_around),
	CASE(long_ranges_are_flushed_once), CASE(sockets_hand_over),
	CASE(memory_ends_while_idle_clears),
};

TEST_MAIN("policy", cases)
