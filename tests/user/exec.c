/* execve: arguments, environment, what the new program keeps and loses, scripts, errors. The test starts itself again
 * with "--as <role>". */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "machine.h"

extern char **environ;

static char self[256];

struct run {
	const char *path;
	char **argv, **envp;
};

static int replace(void *argument)
{
	const struct run *run = argument;

	execve(run->path, run->argv, run->envp);
	return 100 + errno;
}

static int run(const char *path, char **argv, char **envp)
{
	struct run how = { path, argv, envp };

	return test_in_child(replace, &how);
}

/* Roles: what the program does when it is started again. */
static int role_echo(int argc, char **argv)
{
	if (argc != 6 || strcmp(argv[3], "one") || strcmp(argv[4], "") || strcmp(argv[5], "with blanks"))
		return 1;
	if (!getenv("A") || strcmp(getenv("A"), "1") || !getenv("B") || strcmp(getenv("B"), "two") || environ[2])
		return 2;
	return 0;
}

static int role_count(int argc, char **argv)
{
	size_t bytes = 0;

	for (int i = 3; i < argc; i++)
		bytes += strlen(argv[i]);
	return (argc - 3) % 100 + (bytes == (size_t)(argc - 3) * 50 ? 0 : 100);
}

static int role_descriptors(void)
{
	return (fcntl(40, F_GETFD) >= 0 ? 1 : 0) + (fcntl(41, F_GETFD) >= 0 ? 2 : 0);
}

static int role_signals(void)
{
	struct sigaction action;
	sigset_t mask, pending;
	int result = 0;

	sigaction(SIGUSR1, NULL, &action);
	result |= action.sa_handler == SIG_DFL ? 1 : 0;
	sigaction(SIGUSR2, NULL, &action);
	result |= action.sa_handler == SIG_IGN ? 2 : 0;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	result |= sigismember(&mask, SIGHUP) ? 4 : 0;
	sigpending(&pending);
	result |= sigismember(&pending, SIGHUP) ? 8 : 0;
	return result;
}

static int role_vector(void)
{
	uintptr_t stack = (uintptr_t)__builtin_frame_address(0);

	if (getauxval(AT_PAGESZ) != 4096 || getauxval(AT_PHDR) == 0 || getauxval(AT_PHNUM) == 0)
		return 1;
	if (getauxval(AT_ENTRY) == 0 || getauxval(AT_UID) != getuid() || getauxval(AT_RANDOM) == 0)
		return 2;
	if (MACHINE_TELLS_CACHE_LINES && (getauxval(AT_DCACHEBSIZE) == 0 || getauxval(AT_DCACHEBSIZE) % 16 != 0))
		return 3;
	if (stack % 16 != MACHINE_FRAME_REST)
		return 4;
	return 0;
}

static int lock_40(void *unused)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	(void)unused;
	return fcntl(40, F_SETLK, &lock) == -1 ? errno : 0;
}

static int role_locked(void)
{
	return test_in_child(lock_40, NULL) == EAGAIN ? 0 : 1;
}

static int role(int argc, char **argv)
{
	if (strcmp(argv[2], "locked") == 0)
		return role_locked();
	if (strcmp(argv[2], "echo") == 0)
		return role_echo(argc, argv);
	if (strcmp(argv[2], "count") == 0)
		return role_count(argc, argv);
	if (strcmp(argv[2], "descriptors") == 0)
		return role_descriptors();
	if (strcmp(argv[2], "signals") == 0)
		return role_signals();
	if (strcmp(argv[2], "vector") == 0)
		return role_vector();
	if (strcmp(argv[2], "pid") == 0)
		return getpid() == atoi(argv[3]) ? 0 : 1;
	if (strcmp(argv[2], "long") == 0)
		return argc == 21 ? 23 : 1;
	return 98;
}

static void *idle(void *unused)
{
	pause();
	return unused;
}

static void *replace_from_thread(void *unused)
{
	char *argv[] = { self, (char *)"--as", (char *)"locked", NULL };

	execve(self, argv, environ);
	return unused;
}

/* For a process with threads: the first thread or another one calls execve. */
static int replace_with_lock(void *by_another)
{
	pthread_t threads[2];

	MUST(dup2((int)MUST(open(test_path("locked"), O_RDWR | O_CREAT, 0600)), 40));
	CHECK_EQUAL(lock_40(NULL), 0);
	CHECK_EQUAL(pthread_create(&threads[0], NULL, idle, NULL), 0);
	if (!by_another)
		replace_from_thread(NULL);
	CHECK_EQUAL(pthread_create(&threads[1], NULL, replace_from_thread, NULL), 0);
	pthread_join(threads[1], NULL);
	return 99;
}

static void locks_are_kept(void)
{
	CHECK_EQUAL(test_in_child(replace_with_lock, NULL), 0);
	CHECK_EQUAL(test_in_child(replace_with_lock, self), 0);
}

static void arguments_and_environment(void)
{
	char *argv[] = { self, (char *)"--as", (char *)"echo", (char *)"one", (char *)"", (char *)"with blanks", NULL };
	char *envp[] = { (char *)"A=1", (char *)"B=two", NULL };

	CHECK_EQUAL(run(self, argv, envp), 0);
}

static void many_arguments(void)
{
	enum { MANY = 1042 };
	static char text[51];
	static char *argv[MANY + 4];

	memset(text, 'x', 50);
	argv[0] = self;
	argv[1] = (char *)"--as";
	argv[2] = (char *)"count";
	for (int i = 0; i < MANY; i++)
		argv[3 + i] = text;
	CHECK_EQUAL(run(self, argv, environ), MANY % 100);
}

static void too_many_arguments(void)
{
	enum { MANY = 400 };
	static char *argv[MANY + 2];
	char *text = malloc(100001);

	CHECK(text != NULL);
	memset(text, 'x', 100000);
	text[100000] = 0;
	argv[0] = self;
	for (int i = 0; i < MANY; i++)
		argv[1 + i] = text;
	CHECK_EQUAL(run(self, argv, environ), 100 + E2BIG);
}

static void close_on_exec(void)
{
	char *argv[] = { self, (char *)"--as", (char *)"descriptors", NULL };

	CHECK_EQUAL(dup2(0, 40), 40);
	CHECK_EQUAL(dup2(0, 41), 41);
	MUST(fcntl(41, F_SETFD, FD_CLOEXEC));
	CHECK_EQUAL(run(self, argv, environ), 1);
	MUST(fcntl(41, F_SETFD, 0));
	CHECK_EQUAL(run(self, argv, environ), 3);
}

static void ignore_me(int number)
{
	(void)number;
}

static void signals(void)
{
	char *argv[] = { self, (char *)"--as", (char *)"signals", NULL };
	sigset_t set;

	signal(SIGUSR1, ignore_me);
	signal(SIGUSR2, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	CHECK_EQUAL(run(self, argv, environ), 1 + 2 + 4);
}

static int replace_with_own_pid(void *argument)
{
	char number[16];
	char *argv[] = { self, (char *)"--as", (char *)"pid", number, NULL };

	(void)argument;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	execv(self, argv);
	return 99;
}

static void process_stays_the_same(void)
{
	CHECK_EQUAL(test_in_child(replace_with_own_pid, NULL), 0);
}

static void auxiliary_vector(void)
{
	char *argv[] = { self, (char *)"--as", (char *)"vector", NULL };

	CHECK_EQUAL(run(self, argv, environ), 0);
}

static void make_program(const char *path, const void *data, size_t size, mode_t mode)
{
	test_write_file(path, data, size);
	MUST(chmod(path, mode));
}

static void scripts(void)
{
	char path[256], text[600];
	char *argv[] = { (char *)"script", (char *)"one", (char *)"", (char *)"with blanks", NULL };
	char *envp[] = { (char *)"A=1", (char *)"B=two", NULL };

	strcpy(path, test_path("script"));
	/* The interpreter's arguments: its name, the one argument of the first line, the script's path, and argv[1]
	 * onwards. */
	snprintf(text, sizeof(text), "#! %s  --script \nnot looked at\n", self);
	make_program(path, text, strlen(text), 0755);
	CHECK_EQUAL(run(path, argv, envp), 77);
	snprintf(text, sizeof(text), "#!%s", "/none/such");
	make_program(path, text, strlen(text), 0755);
	CHECK_EQUAL(run(path, argv, envp), 100 + ENOENT);
}

static void errors(void)
{
	char *argv[] = { self, NULL };
	char path[256];

	CHECK_EQUAL(run("/none/such", argv, environ), 100 + ENOENT);
	CHECK_EQUAL(run("/tmp", argv, environ), 100 + EACCES);
	strcpy(path, test_path("program"));
	make_program(path, "just text", 9, 0755);
	CHECK_EQUAL(run(path, argv, environ), 100 + ENOEXEC);
	make_program(path, "just text", 9, 0644);
	CHECK_EQUAL(run(path, argv, environ), 100 + EACCES);
	make_program(path, "", 0, 0755);
	CHECK_EQUAL(run(path, argv, environ), 100 + ENOEXEC);
	CHECK_EQUAL(run(test_path("program/below"), argv, environ), 100 + ENOTDIR);
}

/* Wrong ELF headers: execve refuses the file, or only the new process dies. */
static void lying_headers(void)
{
	static char image[8192];
	Elf32_Ehdr *header = (Elf32_Ehdr *)image;
	Elf32_Phdr *segment = (Elf32_Phdr *)(image + sizeof(*header));
	char *argv[] = { self, NULL };
	char path[256];

	strcpy(path, test_path("program"));
	for (int lie = 0; lie < 9; lie++) {
		int status;

		memset(image, 0, sizeof(image));
		memcpy(header->e_ident, ELFMAG, SELFMAG);
		header->e_ident[EI_CLASS] = ELFCLASS32;
		header->e_ident[EI_DATA] = ELFDATA2MSB;
		header->e_ident[EI_VERSION] = EV_CURRENT;
		header->e_type = ET_EXEC;
		header->e_machine = EM_PPC;
		header->e_version = EV_CURRENT;
		header->e_entry = 0x10000100;
		header->e_phoff = sizeof(*header);
		header->e_ehsize = sizeof(*header);
		header->e_phentsize = sizeof(*segment);
		header->e_phnum = 1;
		segment->p_type = PT_LOAD;
		segment->p_vaddr = 0x10000000;
		segment->p_filesz = segment->p_memsz = 4096;
		segment->p_flags = PF_R | PF_X;
		segment->p_align = 4096;
		switch (lie) {
		case 0:
			header->e_machine = EM_386;
			break;
		case 1:
			header->e_phoff = 0x7fffffff;
			break;
		case 2:
			header->e_phnum = 0xffff;
			break;
		case 3:
			header->e_phentsize = 1;
			break;
		case 4:
			segment->p_offset = 0x7ffff000;
			break;
		case 5:
			segment->p_vaddr = 0xfffff000;
			segment->p_memsz = 0x2000;
			break;
		case 6:
			segment->p_filesz = 8192;
			break;
		case 7:
			header->e_type = ET_REL;
			break;
		default:
			header->e_phnum = 0;
			break;
		}
		make_program(path, image, sizeof(image), 0755);
		status = run(path, argv, environ);
		CHECK(status != 0);
		CHECK(status == 100 + ENOEXEC || status == 100 + EINVAL || status == 100 + ENOMEM ||
		      status == 100 + EIO ||
		      status == 100 + EFAULT || status >= 1000 || (status > 0 && status < 100) || status == 127 ||
		      status == 255);
	}
}

static int vfork_and_replace(void *argument)
{
	char *argv[] = { self, (char *)"--as", (char *)"vector", NULL };
	pid_t child = vfork();

	(void)argument;
	if (child == 0) {
		execv(self, argv);
		_exit(99);
	}
	return test_wait(child);
}

static void after_vfork(void)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQUAL(test_in_child(vfork_and_replace, NULL), 0);
}

static char *racing_arguments[22];
static pthread_barrier_t begun;

static void *replace_at_once(void *unused)
{
	pthread_barrier_wait(&begun);
	execv(self, racing_arguments);
	return unused;
}

static int two_replace(void *unused)
{
	pthread_t thread;

	CHECK_EQUAL(pthread_barrier_init(&begun, NULL, 2), 0);
	CHECK_EQUAL(pthread_create(&thread, NULL, replace_at_once, NULL), 0);
	replace_at_once(unused);
	for (;;)
		pause();
	return 1;
}

/* Two threads call execve at once: one of them wins. */
static void two_at_once(void)
{
	/* Long arguments, so that others run before they are copied. */
	static char padding[20000];

	memset(padding, 'x', sizeof(padding) - 1);
	for (size_t i = 0; i < 21; i++)
		racing_arguments[i] = padding;
	racing_arguments[0] = self;
	racing_arguments[1] = (char *)"--as";
	racing_arguments[2] = (char *)"long";
	for (int round = 0; round < 20; round++)
		CHECK_EQUAL(test_in_child(two_replace, NULL), 23);
}

static const struct test_case cases[] = {
	CASE(arguments_and_environment), CASE(many_arguments), CASE(too_many_arguments), CASE(close_on_exec),
	CASE(signals), CASE(process_stays_the_same), CASE(auxiliary_vector), CASE(scripts), CASE(errors),
	CASE(lying_headers), CASE(after_vfork), CASE(locks_are_kept), CASE(two_at_once),
};

int main(int argc, char **argv)
{
	ssize_t n;

	if (argc > 2 && strcmp(argv[1], "--as") == 0)
		return role(argc, argv);
	/* Started as a script's interpreter. The trailing blank of the first line has been removed. */
	if (argc > 2 && strcmp(argv[1], "--script") == 0)
		return argc == 6 && strstr(argv[2], "/script") && strcmp(argv[3], "one") == 0 && argv[4][0] == 0 &&
				       strcmp(argv[5], "with blanks") == 0
			       ? 77
			       : 78;
	n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (n < 0 || strcmp(self, "/") == 0)
		snprintf(self, sizeof(self), "%s", argv[0]);
	return test_run("exec", argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
