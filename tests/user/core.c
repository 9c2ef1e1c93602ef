/* Core files: which deaths leave one, and what it contains. qemu-ppc writes its own kind, under another name. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"

#define PAGE 4096ul
#define ALL RLIM_INFINITY

static const char *core_path;

/* A child runs the function in an empty directory and may leave a core file of up to `most` bytes; returns how it
 * ended. */
static siginfo_t end_of(void (*function)(void), rlim_t most)
{
	struct rlimit limit = { most, most };
	siginfo_t info = { 0 };
	pid_t child;
	char folder[256];

	core_path = test_path("core");
	strcpy(folder, core_path);
	*strrchr(folder, '/') = '\0';
	child = (pid_t)MUST(fork());
	if (child == 0) {
		MUST(chdir(folder));
		MUST(setrlimit(RLIMIT_CORE, &limit));
		function();
		_exit(1);
	}
	MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
	CHECK_EQUAL(info.si_pid, child);
	CHECK_EQUAL(test_wait(child), 1000 + info.si_status);
	return info;
}

static void leaves_none(void (*function)(void), rlim_t most)
{
	CHECK_EQUAL(end_of(function, most).si_code, CLD_KILLED);
	CHECK_ERROR(access(core_path, F_OK), ENOENT);
}

/* A core file in memory, and its program headers. */
static const Elf32_Ehdr *core_file;
static size_t core_size;

static void leaves_core(void (*function)(void), int number)
{
	siginfo_t info = end_of(function, ALL);
	struct stat status;
	int fd;

	CHECK_EQUAL(info.si_status, number);
	CHECK_EQUAL(info.si_code, CLD_DUMPED);
	fd = (int)MUST(open(core_path, O_RDONLY));
	MUST(fstat(fd, &status));
	CHECK_EQUAL(status.st_mode, S_IFREG | 0600);
	core_size = (size_t)status.st_size;
	core_file = mmap(NULL, core_size, PROT_READ, MAP_PRIVATE, fd, 0);
	CHECK(core_file != MAP_FAILED);
	CHECK(memcmp(core_file->e_ident, ELFMAG "\1\2\1", 7) == 0);
	CHECK_EQUAL(core_file->e_type, ET_CORE);
	CHECK_EQUAL(core_file->e_machine, EM_PPC);
	MUST(close(fd));
}

static const char *at_offset(size_t offset, size_t size)
{
	CHECK(offset + size <= core_size);
	return (const char *)core_file + offset;
}

/* The segment that contains an address. */
static const Elf32_Phdr *part_of(const void *address)
{
	const Elf32_Phdr *part = (const Elf32_Phdr *)at_offset(core_file->e_phoff, core_file->e_phnum * sizeof(*part));

	for (unsigned i = 0; i < core_file->e_phnum; i++)
		if (part[i].p_type == PT_LOAD && (uintptr_t)address - part[i].p_vaddr < part[i].p_memsz)
			return &part[i];
	test_fail(__FILE__, __LINE__, "no part of the core file", 0, 0);
}

static const void *dumped(const void *address, size_t size)
{
	const Elf32_Phdr *part = part_of(address);
	size_t at = (uintptr_t)address - part->p_vaddr;

	CHECK(at + size <= part->p_filesz);
	return at_offset(part->p_offset + at, size);
}

/* The nth note of a kind, or NULL. */
static const void *note(unsigned type, unsigned nth, size_t *size)
{
	const Elf32_Phdr *part = (const Elf32_Phdr *)at_offset(core_file->e_phoff, sizeof(*part));
	size_t at = part->p_offset;

	CHECK_EQUAL(part->p_type, PT_NOTE);
	while (at < part->p_offset + part->p_filesz) {
		const Elf32_Nhdr *head = (const Elf32_Nhdr *)at_offset(at, sizeof(*head));
		size_t name = at + sizeof(*head), data = name + ((head->n_namesz + 3) & ~3u);

		CHECK(strcmp(at_offset(name, head->n_namesz), "CORE") == 0);
		if (head->n_type == type && nth-- == 0) {
			*size = head->n_descsz;
			return at_offset(data, head->n_descsz);
		}
		at = data + ((head->n_descsz + 3) & ~3u);
	}
	return NULL;
}

/* Addresses that the child passes to the test through shared memory. */
static struct places {
	char *private, *shared, *left_out, *untouched;
	pid_t first, second;
} *places;

static void places_make(void)
{
	places = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(places != MAP_FAILED);
}

static char *map(int flags, const char *text)
{
	char *area = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(area != MAP_FAILED);
	if (text)
		strcpy(area + PAGE, text);
	return area;
}

static volatile int changed = 1;

static void aborts_with_memory(void)
{
	changed = 2;
	places->private = map(MAP_PRIVATE, "private");
	places->shared = map(MAP_SHARED, "shared");
	places->left_out = map(MAP_PRIVATE, "left out");
	MUST(madvise(places->left_out, 3 * PAGE, MADV_DONTDUMP));
	places->untouched = map(MAP_PRIVATE, NULL);
	abort();
}

/* The file contains pages that the program wrote, with zeros where it wrote nothing. Of mapped files it contains the
 * first page only. */
static void memory_is_there(void)
{
	places_make();
	leaves_core(aborts_with_memory, SIGABRT);
	CHECK_EQUAL(*(const int *)dumped((const void *)&changed, sizeof(changed)), 2);
	CHECK(strcmp(dumped(places->private + PAGE, 8), "private") == 0);
	CHECK_EQUAL(*(const char *)dumped(places->private + 3 * PAGE - 1, 1), 0);
	CHECK(strcmp(dumped(places->shared + PAGE, 7), "shared") == 0);
	CHECK_EQUAL(part_of(places->left_out)->p_filesz, 0);
	CHECK_EQUAL(part_of(places->left_out)->p_memsz, 3 * PAGE);
	CHECK_EQUAL(part_of(places->untouched)->p_filesz, 0);
	CHECK_EQUAL(part_of((const void *)(uintptr_t)memory_is_there)->p_filesz, PAGE);
	CHECK_EQUAL(part_of((const void *)(uintptr_t)memory_is_there)->p_flags, PF_R | PF_X);
	CHECK(memcmp(dumped((const void *)part_of((const void *)(uintptr_t)memory_is_there)->p_vaddr, 4), ELFMAG,
		     4) == 0);
}

static void *waits(void *unused)
{
	register uint32_t kept __asm__("r15") = 0x77778888;

	__asm__ volatile("" : "+r"(kept));
	places->second = gettid();
	pause();
	__asm__ volatile("" : : "r"(kept));
	return unused;
}

static const double kept_real = 1.5;

static void faults_with_a_thread(void)
{
	register uint32_t kept __asm__("r14") = 0x11112222;
	register double real __asm__("fr14") = kept_real;
	pthread_t thread;

	places->first = gettid();
	CHECK_EQUAL(pthread_create(&thread, NULL, waits, NULL), 0);
	while (!places->second)
		sched_yield();
	usleep(1000);
	__asm__ volatile("stw 14,16(0)" : "+r"(kept), "+f"(real));
}

/* The thread that took the signal comes first; every thread comes with its registers. */
static void threads_are_there(void)
{
	const prstatus_t *status;
	const prpsinfo_t *process;
	const siginfo_t *info;
	const double *real;
	char told[512];
	size_t size, length;
	const void *vector;

	places_make();
	leaves_core(faults_with_a_thread, SIGSEGV);
	status = note(NT_PRSTATUS, 0, &size);
	CHECK(status && size == sizeof(*status));
	CHECK_EQUAL(status->pr_pid, places->first);
	CHECK_EQUAL(status->pr_cursig, SIGSEGV);
	CHECK_EQUAL(status->pr_ppid, getpid());
	CHECK_EQUAL(status->pr_reg[14], 0x11112222);
	real = note(NT_PRFPREG, 0, &size);
	CHECK(real && size == 33 * sizeof(double));
	CHECK(memcmp(&real[14], &kept_real, sizeof(kept_real)) == 0);   /* with or without a floating-point unit */
	status = note(NT_PRSTATUS, 1, &size);
	CHECK(status && size == sizeof(*status));
	CHECK_EQUAL(status->pr_pid, places->second);
	CHECK_EQUAL(status->pr_reg[15], 0x77778888);
	CHECK(note(NT_PRSTATUS, 2, &size) == NULL);
	CHECK(note(NT_PRFPREG, 1, &size) && !note(NT_PRFPREG, 2, &size));
	process = note(NT_PRPSINFO, 0, &size);
	CHECK(process && size == sizeof(*process));
	CHECK_EQUAL(process->pr_pid, places->first);
	CHECK(strcmp(process->pr_fname, "core") == 0);
	CHECK(strstr(process->pr_psargs, "core") != NULL);
	info = note(NT_SIGINFO, 0, &size);
	CHECK(info && size == sizeof(*info));
	CHECK(info->si_signo == SIGSEGV && info->si_code == SEGV_MAPERR && info->si_addr == (void *)16);
	vector = note(NT_AUXV, 0, &size);
	length = test_read_file("/proc/self/auxv", told, sizeof(told));
	CHECK(vector && size == length && memcmp(vector, told, size) == 0);
}

/* The core file lists which file is mapped at which address. */
static void files_are_told(void)
{
	const uint32_t *files;
	const char *name;
	size_t size;

	places_make();
	leaves_core(aborts_with_memory, SIGABRT);
	files = note(NT_FILE, 0, &size);
	CHECK(files && files[0] >= 1);
	CHECK_EQUAL(files[1], PAGE);
	CHECK(files[2] <= (uintptr_t)files_are_told && (uintptr_t)files_are_told < files[3]);
	CHECK_EQUAL(files[4], 0);
	name = (const char *)(files + 2 + 3 * files[0]);
	CHECK(strcmp(strrchr(name, '/'), "/core") == 0);
}

static void quits(void)
{
	raise(SIGQUIT);
}

static void is_terminated(void)
{
	raise(SIGTERM);
}

static void is_killed(void)
{
	raise(SIGKILL);
}

static void is_not_dumpable(void)
{
	MUST(prctl(PR_SET_DUMPABLE, 0));
	abort();
}

static void is_another_user(void)
{
	MUST(setuid(1000));
	CHECK_EQUAL(prctl(PR_GET_DUMPABLE), 0);
	abort();
}

static void is_another_user_by_choice(void)
{
	MUST(setuid(1000));
	MUST(prctl(PR_SET_DUMPABLE, 1));
	CHECK_ERROR(prctl(PR_SET_DUMPABLE, 2), EINVAL);
	MUST(chdir("/tmp"));
	abort();
}

static void who_leaves_one(void)
{
	struct stat status;

	leaves_core(quits, SIGQUIT);
	MUST(unlink(core_path));
	leaves_none(quits, 0);
	leaves_none(quits, PAGE - 1);
	leaves_none(is_terminated, ALL);
	leaves_none(is_killed, ALL);
	leaves_none(is_not_dumpable, ALL);
	leaves_none(is_another_user, ALL);
	CHECK_EQUAL(end_of(is_another_user_by_choice, ALL).si_code, CLD_DUMPED);
	MUST(stat("/tmp/core", &status));
	CHECK_EQUAL(status.st_uid, 1000);
	MUST(unlink("/tmp/core"));
}

static int tells_dumpable(void *unused)
{
	(void)unused;
	return prctl(PR_GET_DUMPABLE);
}

static int attaches_to(void *tracee)
{
	MUST(setuid(1000));
	return ptrace(PTRACE_ATTACH, (pid_t)(intptr_t)tracee, NULL, NULL) == -1 ? errno : 0;
}

/* A child inherits the setting; without it, no tracer of the same user can attach. */
static void dumpable_or_not(void)
{
	int ends[2];
	pid_t child;
	char byte;

	CHECK_EQUAL(prctl(PR_GET_DUMPABLE), 1);
	MUST(prctl(PR_SET_DUMPABLE, 0));
	CHECK_EQUAL(test_in_child(tells_dumpable, NULL), 0);
	MUST(prctl(PR_SET_DUMPABLE, 1));
	MUST(pipe(ends));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		MUST(setgid(1000));
		MUST(setuid(1000));
		MUST(write(ends[1], "x", 1));
		pause();
	}
	CHECK_EQUAL(read(ends[0], &byte, 1), 1);
	CHECK_EQUAL(test_in_child(attaches_to, (void *)(intptr_t)child), EPERM);
	MUST(kill(child, SIGKILL));
	CHECK_EQUAL(test_wait(child), 1000 + SIGKILL);
}

/* The core file is written up to the limit of its size. */
static void limited(void)
{
	struct stat status;

	places_make();
	CHECK_EQUAL(end_of(aborts_with_memory, 5 * PAGE).si_code, CLD_DUMPED);
	MUST(stat(core_path, &status));
	CHECK(status.st_size > (off_t)PAGE && status.st_size <= (off_t)(5 * PAGE));
}

/* A core file replaces the name of an existing file; it never writes to that file. */
static void name_in_use(void)
{
	char other[256], text[16];

	strcpy(other, test_path("other"));
	test_write_file(other, "mine", 4);
	MUST(link(other, test_path("core")));
	leaves_core(quits, SIGQUIT);
	MUST(unlink(core_path));
	MUST(symlink(other, core_path));
	leaves_core(quits, SIGQUIT);
	CHECK_EQUAL(test_read_file(other, text, sizeof(text)), 4);
	MUST(unlink(core_path));
	MUST(mkdir(core_path, 0700));
	CHECK_EQUAL(end_of(quits, ALL).si_code, CLD_KILLED);
}

static const struct test_case cases[] = {
	CASE(memory_is_there), CASE(threads_are_there), CASE(files_are_told), CASE(who_leaves_one),
	CASE(dumpable_or_not),
	CASE(limited), CASE(name_in_use),
};

TEST_MAIN("core", cases)
