/* /proc/policy and /proc/tlbmiss, which only our kernel has. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "code.h"
#include "common/check.h"
#include "common/proc.h"

#define PAGE 4096u
#define PAGES 300u

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

	CHECK_EQUAL(proc_store(path, "on\n"), 0);
	touch_pages();
	CHECK(proc_count(path, "data_user ") >= PAGES);
	CHECK_EQUAL(proc_store(path, "off\n"), 0);
	before = proc_count(path, "data_user ");
	touch_pages();
	CHECK_EQUAL(proc_count(path, "data_user "), before);
	CHECK_EQUAL(proc_store(path, "0\n"), 0);
	for (unsigned int i = 0; i < 4; i++)
		CHECK_EQUAL(proc_count(path, names[i]), 0);
	CHECK_EQUAL(proc_store(path, "17"), -EINVAL);
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
				error = policy_set(words);
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
		CHECK_EQUAL(policy_set(words), 0);
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
	static const char *const forms[] = { "queue", "short", "lazy", "broadcast", "queue+own", "short+all" };
	static char text[8192];
	char words[64], before[32];
	pthread_t thread;

	test_read_file("/proc/policy", text, sizeof(text));
	CHECK_EQUAL(sscanf(strstr(text, "shootdown "), "shootdown %31s", before), 1);
	if (policy_set("shootdown=generation") == -ENODEV)
		return;
	CHECK_EQUAL(pthread_create(&thread, NULL, spin, NULL), 0);
	while (!spins)
		;
	for (unsigned int i = 0; i < 40; i++) {
		char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		CHECK(at != MAP_FAILED);
		*at = 1;
		MUST(munmap(at, PAGE));
		snprintf(words, sizeof(words), "shootdown=%s", forms[i % 6]);
		policy_set(words);
		CHECK_EQUAL(policy_set("shootdown=generation"), 0);
	}
	stop = 1;
	CHECK_EQUAL(pthread_join(thread, NULL), 0);
	snprintf(words, sizeof(words), "shootdown=%s", before);
	CHECK_EQUAL(policy_set(words), 0);
}

static void bad_words_are_refused(void)
{
	CHECK_EQUAL(policy_set("no.such=1"), -ENOENT);
	CHECK_EQUAL(policy_set("tlb.flush"), -EINVAL);
	CHECK_EQUAL(policy_set("tlb.flush=never"), -EINVAL);
	CHECK_EQUAL(policy_set("vsid=scatter:2"), -EINVAL);
	CHECK_EQUAL(policy_set("vsid=scatter:"), -EINVAL);
}

static int touch_kernel(void *argument)
{
	(void)argument;
	return *(volatile int *)0xc0000000;
}

static unsigned long long kernel_misses(void)
{
	unsigned long long before = policy_count("kernel_misses=");

	work();
	return policy_count("kernel_misses=") - before;
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

	while (form < 2 && policy_set(forms[form][0]) == -ENODEV)
		form++;
	CHECK_EQUAL(policy_set(forms[form][0]), 0);
	few = kernel_misses();
	CHECK_EQUAL(policy_set(forms[form][1]), 0);
	many = kernel_misses();
	CHECK(many > 0 && (form || kernel_pages_miss() ? few < many : few == 0));
}

/* Policies' counters increase while misses are counted. */
static void counters_move(void)
{
	unsigned long long before;

	CHECK_EQUAL(proc_store("/proc/tlbmiss", "on"), 0);
	CHECK_EQUAL(policy_set("reload=c"), 0);
	before = policy_count("asm_reloads=");
	work();
	if (!kernel_pages_miss())
		CHECK_EQUAL(policy_count("asm_reloads="), before);
	CHECK_EQUAL(policy_set("reload=asm"), 0);
	work();
	CHECK(policy_count("asm_reloads=") > before);
	kernel_misses_fall();
	CHECK_EQUAL(proc_store("/proc/tlbmiss", "off"), 0);
	CHECK_EQUAL(policy_set("reload=c"), 0);
}

static void fork_and_wait(void)
{
	pid_t child = fork();

	MUST(child);
	if (child == 0)
		_exit(0);
	CHECK_EQUAL(test_wait(child), 0);
}

/* Tables count as shared while parent and child have them, and no longer once the child has ended. */
static void shared_tables_are_counted_now(void)
{
	static char text[8192];
	const char *path = "/proc/frames", *name = "tables_shared ";
	volatile char *where = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long long before = proc_count(path, name), shares = policy_count("table_shares=");
	pid_t child;

	CHECK(where != MAP_FAILED);
	where[0] = 1;
	test_read_file("/proc/policy", text, sizeof(text));
	if (!strstr(text, "fork.tables copy"))
		return;
	CHECK_EQUAL(policy_set("fork.tables=share"), 0);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		pause();
		_exit(1);
	}
	if (policy_count("table_shares=") > shares)
		CHECK(proc_count(path, name) > before);
	MUST(kill(child, SIGKILL));
	test_wait(child);
	CHECK_EQUAL(proc_count(path, name), before);
	CHECK_EQUAL(policy_set("fork.tables=copy"), 0);
	MUST(munmap((void *)where, PAGE));
}

/*
 * A fork and the end of the child flush each page with the change of its entry. Not with a new context for the whole
 * address space, not for pages that a fork does not copy, and not once a fork has shared a table.
 */
static void updates_flush_at_a_fork(void)
{
	static char text[8192];
	unsigned long long before;

	test_read_file("/proc/policy", text, sizeof(text));
	if (!strstr(text, "tlb.flush search") || !strstr(text, "tlb.cutoff off") || !strstr(text, "fork.tables copy") ||
	    !strstr(text, "pte.update range") || policy_count("table_shares="))
		return;
	before = policy_count("pages_at_update=");
	fork_and_wait();
	CHECK_EQUAL(policy_count("pages_at_update="), before);
	CHECK_EQUAL(policy_set("pte.update=batch"), 0);
	fork_and_wait();
	CHECK(policy_count("pages_at_update=") > before);
	CHECK_EQUAL(policy_set("pte.update=range"), 0);
}

static unsigned long long now_us(void)
{
	struct timespec now;

	MUST(clock_gettime(CLOCK_MONOTONIC, &now));
	return (unsigned long long)now.tv_sec * 1000000 + (unsigned long long)now.tv_nsec / 1000;
}

/* The first read through an open file waits, and no other. */
static void files_wait(void)
{
	unsigned long long before = policy_count("waits="), since;
	char byte;
	int fd;

	CHECK_EQUAL(policy_set("file.wait=3000"), 0);
	fd = open("/proc/self/exe", O_RDONLY);
	MUST(fd);
	since = now_us();
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK(now_us() - since >= 3000);
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(policy_count("waits="), before + 1);
	CHECK_EQUAL(policy_set("file.wait=none"), 0);
	CHECK_EQUAL(policy_set("file.wait=0"), -EINVAL);
	MUST(lseek(fd, 0, SEEK_SET));
	CHECK_EQUAL(read(fd, &byte, 1), 1);
	CHECK_EQUAL(policy_count("waits="), before + 1);
	MUST(close(fd));
}

/* A smaller hash table is chosen at boot only. */
static void hash_size_is_as_chosen(void)
{
	static char text[8192];

	test_read_file("/proc/policy", text, sizeof(text));
	CHECK_EQUAL(policy_count("bytes_unused=") > 0, strstr(text, "hash.size least") != NULL);
}

/* A ready queue that holds more than the threads that wait is chosen at boot only. */
static void ready_queue_is_as_chosen(void)
{
	static char text[8192];

	work();
	test_read_file("/proc/policy", text, sizeof(text));
	CHECK_EQUAL(policy_count("blocked=") > 0, strstr(text, "ready.queue waiting") == NULL);
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
		{ "switch.flush=tlb", " flushed=", "switch.flush=none" },
		{ "unmap.flush=twice", "repeated=", "unmap.flush=once" },
		{ "range.flush=every", "pages_absent=", "range.flush=tables" },
		{ "icache.flush=twice", "flushes_changed=", "icache.flush=mapping" },
		{ "icache.flush=every", "flushes_changed=", "icache.flush=mapping" },
		{ "icache.flush=exec", "flushes_changed=", "icache.flush=mapping" },
		{ "icache.flush=page", "flushes_changed=", "icache.flush=mapping" },
		{ "idle.cache=off idle.clear=cached", "careful_runs=", "idle.cache=normal idle.clear=off" },
		{ "copy.count=on", "counted=", "copy.count=off" },
		{ "copy=doubleword", "long_copies=", "copy=words" },
		{ "copy=doubleword6", "long_copies=", "copy=words" },
		{ "pte.update=immediate", "pages_at_update=", "pte.update=range" },
		{ "pte.update=batch", "pages_at_update=", "pte.update=range" },
		{ "reload=c-insert", "asm_reloads=", "reload=c" },
	};
	unsigned int most = sizeof(forms) / sizeof(forms[0]) - (kernel_pages_miss() ? 1 : 0);

	CHECK_EQUAL(proc_store("/proc/tlbmiss", "on"), 0);
	for (unsigned int i = 0; i < most; i++) {
		int error = policy_set(forms[i].words);
		unsigned long long before = policy_count(forms[i].counter);

		CHECK(error == 0 || error == -ENODEV);
		work();
		CHECK_EQUAL(policy_count(forms[i].counter) > before, error == 0);
		CHECK_EQUAL(policy_set(forms[i].back), 0);
		before = policy_count(forms[i].counter);
		work();
		CHECK_EQUAL(policy_count(forms[i].counter), before);
	}
	CHECK_EQUAL(proc_store("/proc/tlbmiss", "off"), 0);
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
		CHECK_EQUAL(policy_set("pin=base"), -ENODEV);
		return;
	}
	CHECK_EQUAL(policy_set("pin=off"), 0);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(strstr(text, one_tlb ? "kernel writable\n" : "kernel\n"));
	CHECK(strstr(text, " user ") && !strstr(text, "pinned"));
	CHECK_EQUAL(policy_set("pin=base"), 0);
	CHECK_EQUAL(proc_store("/proc/mmu/tlb", "0"), 0);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(strstr(text, entry));
	/* A program's access to the page fails, and does not remove the entry. */
	CHECK_EQUAL(test_in_child(touch_kernel, NULL), 1000 + SIGSEGV);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(strstr(text, entry) && (one_tlb || strstr(text, "D 28 c0000000 8192 KB")));
	CHECK_EQUAL(policy_set("pin=off"), 0);
	test_read_file("/proc/mmu/tlb", text, sizeof(text));
	CHECK(!strstr(text, "pinned"));
}

/* A value that the processor cannot have leaves the one before in force: here pages of 16 MB, which a 405 shows. */
static void what_is_refused_changes_nothing(void)
{
	static char text[8192];

	if (policy_set("kernel.map=large") == -ENODEV)
		return;
	CHECK_EQUAL(policy_set("kernel.map=bat"), -ENODEV);
	if (access("/proc/mmu/tlb", F_OK) == 0) {
		test_read_file("/proc/mmu/tlb", text, sizeof(text));
		CHECK(strstr(text, "16384 KB"));
	}
	CHECK_EQUAL(policy_set("kernel.map=pte"), 0);
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

		CHECK_EQUAL(policy_set(forms[form]), 0);
		before = policy_count("streamed_whole=");
		reader = test_child(receive_all, &ends[1]);
		MUST(usleep(20000)); /* the reader waits */
		CHECK_EQUAL(write(ends[0], bytes, STREAMED), STREAMED);
		CHECK_EQUAL(test_wait(reader), 0);
		if (form == 0 || sysconf(_SC_NPROCESSORS_ONLN) == 1)
			CHECK_EQUAL(policy_count("streamed_whole=") > before, form == 0);
	}
	MUST(close(ends[0]));
	MUST(close(ends[1]));
}

/* What msync and fsync have written to the medium of files since *last. */
static unsigned long long pages_synced(unsigned long long *last)
{
	unsigned long long before = *last;

	*last = proc_count("/proc/check", "synced ");
	return *last - before;
}

/* A page is written once, and again after a change: by a mapping, which is told of its first write only, or a call. */
static void dirty_pages_are_written_once(void)
{
	const char *path = test_path("file");
	char page[PAGE] = { 1 };
	int fd = (int)MUST(open(path, O_RDWR | O_CREAT, 0600));
	unsigned long long synced = 0;
	volatile char *where, *own;

	for (unsigned int i = 0; i < PAGES; i++)
		CHECK_EQUAL(write(fd, page, PAGE), PAGE);
	where = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	own = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK(where != MAP_FAILED && own != MAP_FAILED);
	own[0] = 9;
	pages_synced(&synced);
	MUST(fsync(fd));
	CHECK_EQUAL(pages_synced(&synced), PAGES);
	MUST(fsync(fd));
	CHECK_EQUAL(pages_synced(&synced), 0);
	CHECK_EQUAL(own[0], 9);
	MUST(syncfs(fd)); /* what other programs have left */
	pages_synced(&synced);
	for (char round = 1; round < 4; round++) {
		where[0] = where[PAGE] = round;
		where[1] = round;
		CHECK_EQUAL(pwrite(fd, &round, 1, 2 * PAGE), 1);
		MUST(msync((void *)where, PAGE, MS_SYNC));
		CHECK_EQUAL(pages_synced(&synced), 1);
		MUST(syncfs(fd));
		CHECK_EQUAL(pages_synced(&synced), 2);
	}
	CHECK_EQUAL(own[0], 9);
	CHECK_EQUAL(own[PAGE], 3);
	MUST(munmap((void *)own, PAGES * PAGE));
	MUST(munmap((void *)where, PAGES * PAGE));
	MUST(close(fd));
	MUST(unlink(path));
}

/*
 * check=sleep: the owner of a shared file's pages sleeps in faults, and is told of the first write to each page, not of
 * later ones, nor of those that private mappings make.
 */
static void first_writes_are_told(void)
{
	const int shared = MAP_SHARED | MAP_ANONYMOUS, both = PROT_READ | PROT_WRITE;
	volatile char *where = mmap(NULL, PAGES * PAGE, both, shared, -1, 0);
	unsigned long long before = proc_count("/proc/check", "written "), slept = proc_count("/proc/check", "slept ");
	char text[256];

	test_read_file("/proc/check", text, sizeof(text));
	CHECK(where != MAP_FAILED);
	for (unsigned int i = 0; i < PAGES; i++)
		CHECK_EQUAL(where[i * PAGE], 0);
	if (!strstr(text, "check sleep"))
		return;
	CHECK(proc_count("/proc/check", "slept ") > slept);
	CHECK_EQUAL(proc_count("/proc/check", "written "), before);
	for (unsigned int i = 0; i < 2 * PAGES; i++)
		where[i % PAGES * PAGE + i / PAGES] = 1;
	CHECK_EQUAL(proc_count("/proc/check", "written "), before + PAGES);
	MUST(mprotect((void *)where, PAGES * PAGE, PROT_READ));
	MUST(mprotect((void *)where, PAGES * PAGE, both));
	where[0] = 2;
	touch_pages();
	MUST(munmap((void *)where, PAGES * PAGE));
	dirty_pages_are_written_once();
}

static const struct test_case cases[] = {
	CASE(misses_are_counted), CASE(policies_change_under_way), CASE(shootdown_changes_under_way),
	CASE(bad_words_are_refused), CASE(counters_move), CASE(old_forms_act), CASE(updates_flush_at_a_fork),
	CASE(files_wait), CASE(hash_size_is_as_chosen),
	CASE(ready_queue_is_as_chosen), CASE(pinned_entries_stay), CASE(what_is_refused_changes_nothing),
	CASE(sockets_hand_over), CASE(shared_tables_are_counted_now), CASE(first_writes_are_told),
};

TEST_MAIN("policy", cases)
