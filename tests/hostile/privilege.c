/* Ways to gain privileges: set-ID programs under the attacker's control, and files that keep their set-ID bits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/attack.h"
#include "machine.h"

/* This program again, owned by root and with the set-user-ID bit (tests/suite/groups.py). */
#define SET_UID "/bin/set-uid"
#define REPORT "report"
#define IS_ROOT 42
#define IS_NOBODY 43

static int run_it(void *argument)
{
	(void)argument;
	execl(SET_UID, SET_UID, REPORT, (char *)NULL);
	return 1;
}

static int traced(void *argument)
{
	MUST(ptrace(PTRACE_TRACEME, 0, 0, 0));
	return run_it(argument);
}

/* Continues the traced program from stop to stop; returns its exit status. */
static int follow(pid_t child)
{
	int status;

	while (MUST(waitpid(child, &status, 0)) == child && WIFSTOPPED(status))
		MUST(ptrace(PTRACE_CONT, child, 0, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void a_traced_program_gets_nothing(void)
{
	pid_t child;

	CHECK_EQUAL(test_in_child(run_it, NULL), IS_ROOT);
	CHECK_EQUAL(follow(test_child(traced, NULL)), IS_NOBODY);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		raise(SIGSTOP);
		_exit(run_it(NULL));
	}
	CHECK_EQUAL(waitpid(child, NULL, WUNTRACED), child);
	MUST(ptrace(PTRACE_SEIZE, child, 0, 0));
	MUST(kill(child, SIGCONT));
	CHECK_EQUAL(follow(child), IS_NOBODY);
}

static int no_new(void *argument)
{
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	return test_in_child(run_it, argument);
}

static void children_get_nothing_either(void)
{
	CHECK_EQUAL(test_in_child(no_new, NULL), IS_NOBODY);
}

static bool on(const char *platform)
{
	return !strcmp((const char *)getauxval(AT_PLATFORM), platform);
}

static int run_word(void *code)
{
	((void (*)(void))code)();
	return 0;
}

#define SPR(number) (((number) & 31) << 16 | ((number) >> 5) << 11)

/* Each of these words ends a program. */
static void all_refused(const uint32_t *words, size_t count)
{
	uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(code != MAP_FAILED);
	for (size_t i = 0; i < count; i++) {
		code[0] = words[i];
		code[1] = 0x4e800020;   /* blr */
		machine_code_written(code);
		CHECK_EQUAL(test_in_child(run_word, code), 1000 + SIGILL);
	}
	munmap(code, 4096);
}

#define ALL_REFUSED(words) all_refused((words), sizeof(words) / sizeof((words)[0]))

/* What a 405 has for its supervisor: TLB, device control registers, PID and ZPR, caches, critical returns. */
static void a_405s_supervisor_instructions(void)
{
	static const uint32_t words[] = {
		0x7c0007a4, 0x7c000fa4, /* tlbwe 0, 0, 0 and 1 */
		0x7c000764, 0x7c000724, 0x7c0002e4,     /* tlbre, tlbsx, tlbia */
		0x7c000286 | SPR(0xc0), 0x7c000386 | SPR(0xc0),         /* mfdcr, mtdcr */
		0x7c0003a6 | SPR(945), 0x7c0003a6 | SPR(944), 0x7c0003a6 | SPR(982),    /* mtspr PID, ZPR, EVPR */
		0x7c0003a6 | SPR(1010), 0x7c0003a6 | SPR(276), 0x7c0002a6 | SPR(272),   /* DBCR0, SPRG4; mfspr SPRG0 */
		0x4c000066, 0x7c008146, 0x7c000106,     /* rfci, wrteei, wrtee */
		0x7c00078c, 0x7c00038c, 0x7c0007cc, 0x7c0003cc, 0x7c0003ac,     /* iccci, dccci, icread, dcread, dcbi */
	};

	if (on("ppc405"))
		ALL_REFUSED(words);
}

/* What a 970 has: modes, segments, TLB, hash table, and the returns of exceptions and hypervisor. */
static void a_970s_supervisor_instructions(void)
{
	static const uint32_t words[] = {
		0x7c0000a6, 0x7c000124, 0x7c000164, 0x7c010164, /* mfmsr, mtmsr, mtmsrd with L = 0 and 1 */
		0x4c000024, 0x4c000224, 0x4c000064,     /* rfid, hrfid, rfi */
		0x7c000324, 0x7c000364, 0x7c0003e4, 0x7c0006a6, 0x7c000726,     /* slbmte, -ie, -ia, -mfev, -mfee */
		0x7c0001a4, 0x7c0001e4, 0x7c0004a6, 0x7c000526, /* mtsr, mtsrin, mfsr, mfsrin */
		0x7c000264, 0x7c200264, 0x7c000224, 0x7c00046c, 0x7c0002e4,     /* tlbie, with L, -l, tlbsync, tlbia */
		0x7c0003ac, 0x00000200, /* dcbi, attn */
		0x7c0003a6 | SPR(25), 0x7c0003a6 | SPR(26), 0x7c0003a6 | SPR(27),       /* mtspr SDR1, SRR0, SRR1 */
		0x7c0003a6 | SPR(22), 0x7c0003a6 | SPR(284), 0x7c0003a6 | SPR(311),     /* DEC, TBL, HIOR */
		0x7c0003a6 | SPR(1008), 0x7c0003a6 | SPR(1012), 0x7c0003a6 | SPR(1014), /* HID0, HID4, HID5 */
		0x7c0003a6 | SPR(275), 0x7c0002a6 | SPR(272), 0x7c0002a6 | SPR(275),    /* SPRG3; mfspr SPRG0, SPRG3 */
		0x7c0002a6 | SPR(19), 0x7c0002a6 | SPR(25), 0x7c0002a6 | SPR(259),      /* DAR, SDR1, SPRG3 for users */
		0x7c0002a6 | SPR(256), 0x7c0002a6 | SPR(136), 0x7c0003a6 | SPR(152),    /* VRSAVE, CTRL; mtspr CTRL */
	};

	if (on("ppc970"))
		ALL_REFUSED(words);
}

/* Programs can read SPRG4 to SPRG7 of a 405. A miss of the TLB must leave there no register of whom it interrupted. */
static void registers_of_others(void)
{
	enum { PAGES = 128 };
	volatile char *memory = mmap(NULL, PAGES * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t seen[4];

	CHECK(memory != MAP_FAILED);
	for (int i = 0; i < PAGES; i++)
		memory[i * 4096] = 1;
	if (on("ppc405")) {
		machine_read_sprgs(seen);
		for (int i = 0; i < 4; i++)
			CHECK_EQUAL(seen[i], 0);
	}
	munmap((void *)(uintptr_t)memory, PAGES * 4096);
}

/* What another thread left in USPRG0 is not seen; a fork hands it on, an exec does not. */
static void usprg_is_each_threads_own(void)
{
	int go[2], done[2];
	pid_t child;
	char byte;

	if (!on("ppc405"))
		return;
	MUST(pipe(go));
	MUST(pipe(done));
	machine_write_usprg(0x12345678);
	child = (pid_t)MUST(fork());
	if (child == 0) {
		if (machine_read_usprg() != 0x12345678)
			_exit(1);
		for (uint32_t value = 1; value < 4; value++) {
			machine_write_usprg(value);
			if (write(done[1], "", 1) != 1 || read(go[0], &byte, 1) != 1 || machine_read_usprg() != value)
				_exit(2);
		}
		execl("/proc/self/exe", "privilege", "usprg", (char *)NULL);
		_exit(3);
	}
	for (int turn = 1; turn < 4; turn++) {
		CHECK_EQUAL(read(done[0], &byte, 1), 1);
		CHECK_EQUAL(machine_read_usprg(), 0x12345678);
		CHECK_EQUAL(write(go[1], "", 1), 1);
	}
	CHECK_EQUAL(test_wait(child), 0);
	CHECK_EQUAL(machine_read_usprg(), 0x12345678);
	machine_write_usprg(0);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(done[i]);
	}
}

/* A process that shares its directory with another one gains no privilege by exec: the other could change the
 * directory. */
static void shared_directories(void)
{
	pid_t child = (pid_t)MUST(syscall(SYS_clone, CLONE_FS | SIGCHLD, 0, 0, 0, 0));

	if (child == 0)
		_exit(run_it(NULL));
	CHECK_EQUAL(test_wait(child), IS_NOBODY);
}

/* A debugger of another user cannot attach to the running program. */
static void nobody_attaches(void)
{
	static const char *const links[] = { "fd/0", "cwd", "root", "exe" };
	int ends[2], told[2];
	pid_t child;
	char byte, path[32];

	MUST(pipe(ends));
	MUST(pipe(told));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		dup2(ends[0], 0);
		dup2(told[1], 1);
		close(ends[1]);
		execl(SET_UID, SET_UID, "wait", (char *)NULL);
		_exit(1);
	}
	CHECK_EQUAL(read(told[0], &byte, 1), 1);
	CHECK_ERROR(ptrace(PTRACE_ATTACH, child, 0, 0), EPERM);
	CHECK_ERROR(ptrace(PTRACE_SEIZE, child, 0, 0), EPERM);
	/* The attacker cannot reach the program's open files through /proc, not even the file that the attacker opened
	 * himself. */
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)child, links[i]);
		CHECK_ERROR(open(path, O_RDONLY | O_NONBLOCK), EACCES);
	}
	close(ends[1]);
	close(ends[0]);
	CHECK_EQUAL(test_wait(child), IS_ROOT);
}

/* A file of /proc that was opened before the process became another user's shows nothing of what the process does
 * later. */
static void opened_before(void)
{
	static const char *const names[] = { "environ", "auxv", "maps" }, *const directories[] = { "fd", "fdinfo" };
	int go[2], ends[2], told[2], fds[3], opened[2][2];
	char byte, path[64], text[256];
	pid_t child;

	MUST(pipe(go));
	MUST(pipe(ends));
	MUST(pipe(told));
	child = (pid_t)MUST(fork());
	if (child == 0) {
		close(go[1]);
		close(ends[1]);
		if (read(go[0], &byte, 1) != 1)
			_exit(1);
		dup2(ends[0], 0);
		dup2(told[1], 1);
		execle(SET_UID, SET_UID, "wait", (char *)NULL, (char *[]){ "SECRET=1", NULL });
		_exit(1);
	}
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)child, names[i]);
		fds[i] = (int)MUST(open(path, O_RDONLY));
		if (i)
			CHECK(read(fds[i], text, sizeof(text)) > 0);
		MUST(lseek(fds[i], 0, SEEK_SET));
	}
	for (int thread = 0; thread < 2; thread++)
		for (size_t i = 0; i < 2; i++) {
			char own[24] = "";

			if (thread)
				snprintf(own, sizeof(own), "task/%d/", (int)child);
			snprintf(path, sizeof(path), "/proc/%d/%s%s", (int)child, own, directories[i]);
			opened[thread][i] = (int)MUST(open(path, O_RDONLY | O_DIRECTORY));
			CHECK(syscall(SYS_getdents64, opened[thread][i], text, sizeof(text)) > 0);
			MUST(lseek(opened[thread][i], 0, SEEK_SET));
			MUST(faccessat(opened[thread][i], "0", F_OK, AT_SYMLINK_NOFOLLOW));
		}
	CHECK_EQUAL(write(go[1], "!", 1), 1);
	CHECK_EQUAL(read(told[0], &byte, 1), 1);
	for (int thread = 0; thread < 2; thread++)
		for (size_t i = 0; i < 2; i++) {
			CHECK_ERROR(syscall(SYS_getdents64, opened[thread][i], text, sizeof(text)), EACCES);
			CHECK_ERROR(faccessat(opened[thread][i], "0", F_OK, AT_SYMLINK_NOFOLLOW), EACCES);
		}
	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/proc/%d/%s", (int)child, names[i]);
		CHECK_ERROR(open(path, O_RDONLY), EACCES);
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[i]);
		CHECK_ERROR(open(path, O_RDONLY), EACCES);
		CHECK_EQUAL(read(fds[i], text, sizeof(text)), 0);
	}
	/* The files that everybody may read contain no addresses. */
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)child);
	CHECK(test_read_file(path, text, sizeof(text)) > 0);
	for (char *at = strtok(text, " "); at; at = strtok(NULL, " "))
		CHECK(strcmp(at, "268435456") != 0);	/* 0x10000000, where the program's code begins */
	close(ends[1]);
	close(ends[0]);
	CHECK_EQUAL(test_wait(child), IS_ROOT);
}

/* A mutex with priority inheritance, whose owner calls exec. */
static volatile struct {
	uint32_t word;
	pid_t owner;
} *held;

static long futex(int operation)
{
	return syscall(SYS_futex, &held->word, operation, 0, NULL, NULL, 0);
}

static int own_and_exec(void *argument)
{
	/* So that the heir runs at once when exec gives the mutex away. */
	MUST(nice(10));
	held->word = 0;
	MUST(futex(FUTEX_LOCK_PI));
	held->owner = getpid();
	usleep(20000);
	return run_it(argument);
}

/* A process that inherits a mutex from an exec attaches while the exec goes on. */
static void attached_during_exec(void)
{
	pid_t child;
	long attached;

	held = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK((void *)held != MAP_FAILED);
	child = test_child(own_and_exec, NULL);
	while (!held->owner)
		usleep(1000);
	(void)futex(FUTEX_LOCK_PI);
	attached = ptrace(PTRACE_SEIZE, child, 0, 0);
	CHECK_EQUAL(follow(child), attached < 0 ? IS_ROOT : IS_NOBODY);
}

/* A set-ID program opens what its user may not open, and gives up its privilege. Meanwhile nobody may take the file. */
#define SECRET 5
#define PIDFD_OPEN 434
#define PIDFD_GETFD 438

static int semaphores, taken[2];

static int exec_with_undo(void *argument)
{
	struct sembuf take = { 0, -1, SEM_UNDO };

	(void)argument;
	/* So that who waits for the semaphore runs at once when the end of this process gives it back. */
	MUST(nice(10));
	MUST(semop(semaphores, &take, 1));
	CHECK_EQUAL(write(taken[1], "t", 1), 1);
	execl(SET_UID, SET_UID, "drop", (char *)NULL);
	return 1;
}

static void taken_at_the_end(void)
{
	struct sembuf take = { 0, -1, 0 };
	char path[32], byte;
	pid_t child;
	int pidfd;

	MUST(pipe(taken));
	semaphores = (int)MUST(semget(IPC_PRIVATE, 1, 0600));
	MUST(semop(semaphores, &(struct sembuf){ 0, 1, 0 }, 1));
	child = test_child(exec_with_undo, NULL);
	pidfd = (int)MUST(syscall(PIDFD_OPEN, child, 0));
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)child, SECRET);
	/*
	 * Not by a look at the semaphore from time to time: a fast processor runs the whole child from one look to the
	 * next.
	 */
	CHECK_EQUAL(read(taken[0], &byte, 1), 1);
	MUST(semop(semaphores, &take, 1));
	CHECK_EQUAL(open(path, O_RDONLY | O_NOCTTY), -1);
	CHECK_EQUAL(syscall(PIDFD_GETFD, pidfd, SECRET, 0), -1);
	CHECK_EQUAL(ptrace(PTRACE_SEIZE, child, 0, 0), -1);
	CHECK_EQUAL(test_wait(child), IS_NOBODY);
	MUST(semctl(semaphores, 0, IPC_RMID));
	close(taken[0]);
	close(taken[1]);
}

static int file;

static void by_write(const char *path) { (void)path; CHECK_EQUAL(pwrite(file, "x", 1, 0), 1); }
static void by_truncate(const char *path) { MUST(truncate(path, 10)); }
static void by_ftruncate(const char *path) { (void)path; MUST(ftruncate(file, 10)); }
static void by_open(const char *path) { close((int)MUST(open(path, O_WRONLY | O_TRUNC))); }
static void by_open_to_read(const char *path) { close((int)MUST(open(path, O_RDONLY | O_TRUNC))); }
static void by_fallocate(const char *path) { (void)path; MUST(fallocate(file, 0, 0, 8192)); }
static void by_hole(const char *path) { (void)path; MUST(fallocate(file, 3, 0, 10)); }
static void by_zeroes(const char *path) { (void)path; MUST(fallocate(file, 16, 0, 10)); }
static void by_chown(const char *path) { MUST(chown(path, ATTACKER, ATTACKER)); }

static void by_sendfile(const char *path)
{
	(void)path;
	CHECK_EQUAL(sendfile(file, (int)MUST(open("/bin/hello", O_RDONLY)), NULL, 10), 10);
}

static void by_copy(const char *path)
{
	(void)path;
	CHECK_EQUAL(copy_file_range((int)MUST(open("/bin/hello", O_RDONLY)), NULL, file, NULL, 10, 0), 10);
}

static void by_splice(const char *path)
{
	int ends[2];

	(void)path;
	MUST(pipe(ends));
	CHECK_EQUAL(write(ends[1], "x", 1), 1);
	CHECK_EQUAL(splice(ends[0], NULL, file, NULL, 1, 0), 1);
}

static void (*const changes[])(const char *) = {
	by_write, by_truncate, by_ftruncate, by_open, by_open_to_read, by_fallocate, by_hole, by_zeroes, by_chown,
	by_sendfile, by_copy, by_splice,
};

/* Every way to change a file clears its set-ID bits. */
static void the_bits_go(void)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const char *path = test_path("file");
		struct stat status;

		test_write_file(path, "some text, long enough", 20);
		file = (int)MUST(open(path, O_RDWR));
		MUST(chmod(path, 06755));
		MUST(stat(path, &status));
		CHECK_EQUAL(status.st_mode & 07777, 06755);
		changes[i](path);
		MUST(stat(path, &status));
		if ((status.st_mode & 07777) != 0755)
			printf("change %zu leaves %o\n", i, status.st_mode);
		CHECK_EQUAL(status.st_mode & 07777, 0755);
		close(file);
		MUST(unlink(path));
	}
}

/* An open or a truncation that is refused leaves a program as it was: nobody writes it, and it can be executed. */
static void refused_opens(void)
{
	CHECK_ERROR(open(SET_UID, O_RDONLY | O_TRUNC), EACCES);
	CHECK_ERROR(open(SET_UID, O_WRONLY | O_TRUNC), EACCES);
	CHECK_ERROR(truncate(SET_UID, 0), EACCES);
	CHECK_EQUAL(test_in_child(run_it, NULL), IS_ROOT);
}

static const struct test_case cases[] = {
	CASE(a_traced_program_gets_nothing),
	CASE(children_get_nothing_either),
	CASE(shared_directories),
	CASE(nobody_attaches),
	CASE(opened_before),
	CASE(attached_during_exec),
	CASE(taken_at_the_end),
	CASE(the_bits_go),
	CASE(refused_opens),
	CASE(a_405s_supervisor_instructions),
	CASE(a_970s_supervisor_instructions),
	CASE(registers_of_others),
	CASE(usprg_is_each_threads_own),
};

int main(int argc, char **argv)
{
	char byte;

	if (argc == 2 && strcmp(argv[1], "wait") == 0) {
		if (write(1, "!", 1) != 1)
			return 1;
		while (read(0, &byte, 1) > 0)
			;
		return geteuid() == 0 ? IS_ROOT : IS_NOBODY;
	}
	if (argc == 2 && strcmp(argv[1], "drop") == 0) {
		if (dup2(open("/dev/console", O_RDONLY | O_NOCTTY), SECRET) < 0 || setuid(getuid()) < 0)
			return 1;
		return geteuid() == 0 ? IS_ROOT : IS_NOBODY;
	}
	if (argc == 2 && strcmp(argv[1], "usprg") == 0)
		return machine_read_usprg() != 0;
	if (argc == 2 && strcmp(argv[1], REPORT) == 0)
		return geteuid() == 0 ? IS_ROOT : IS_NOBODY;
	return attack_run("privilege", argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
