/* init: runs one program and ends with its status. What differs between our kernel and Linux is in own.c and linux.c.
 *
 *   /init [stack=<bytes>] [[program=]program [argument ...]]
 *
 * With stack=<bytes> (at most 4096), the environment is longer by as much, which moves the stacks of all programs.
 * Linux hands words of its command line that it does not know to init too, so there the program's word begins with
 * program=, and words before it mean nothing. A byte of the program's words that a command line cannot hold is written
 * as a backslash and three octal digits; a backslash alone stands for nothing, so that a word can be empty.
 * Without a program it runs /etc/rc, or /bin/sh if there is no /etc/rc. The kernel powers off with the status that init
 * returns. That status is limited to 0 to 63, so init prints a larger one, or a death by signal, on the console and
 * returns 63. init needs no C library, so that it also runs on a kernel that cannot run one yet. */
#include "syscall.h"
#include "system.h"

#define STATUS_OTHER 63

/* The region of interest that holds the program from its fork to its end (docs/interfaces.md, section 8). */
#define PROGRAM_REGION 65536

/* The part of the control device for programs; NULL if the machine has none. */
static volatile unsigned int *control;

#define STACK_MOST 4096

/* There is room for a variable that moves stacks, and for the system's control_variable. */
static const char *environment[] = {
	"PATH=/bin:/sbin:/usr/bin", "HOME=/", "TERM=vt100", "PS1=# ", 0, 0, 0,
};

static void add_variable(const char *variable)
{
	unsigned int n = 0;

	while (environment[n])
		n++;
	environment[n] = variable;
}

static unsigned long length(const char *text)
{
	unsigned long n = 0;

	while (text[n])
		n++;
	return n;
}

void say(const char *text)
{
	system_call(__NR_write, 2, (long)text, (long)length(text), 0);
}

void say_number(unsigned long value)
{
	char digits[12];
	unsigned int at = sizeof(digits);

	digits[--at] = 0;
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	say(digits + at);
}

/* Opens the console as descriptors 0, 1 and 2, whether or not the kernel has done so. */
static void open_console(void)
{
	enum { F_GETFD = 1, O_RDWR = 2 };

	for (long fd = 0; fd < 3; fd++) {
		if (system_call(__NR_fcntl, fd, F_GETFD, 0, 0) >= 0)
			continue;
		if (fd == 0)
			system_call(__NR_open, (long)"/dev/console", O_RDWR, 0, 0);
		else
			system_call(__NR_dup2, 0, fd, 0, 0);
	}
}

volatile unsigned int *map_page(const char *path, unsigned long offset)
{
	enum { O_RDWR = 2, O_CLOEXEC = 02000000, PROT_READ_WRITE = 3, MAP_SHARED = 1 };
	long fd = system_call(__NR_open, (long)path, O_RDWR | O_CLOEXEC, 0, 0), page;

	if (fd < 0)
		return 0;
	page = system_call6(__NR_mmap2, 0, 4096, PROT_READ_WRITE, MAP_SHARED, fd, (long)(offset / 4096));
	system_call(__NR_close, fd, 0, 0, 0);
	return page >= 0 || page < -4095 ? (volatile unsigned int *)page : 0;
}

/* Whether the word is stack=<bytes>, and makes the environment longer by so many bytes. */
static int moves_stacks(const char *word)
{
	static char variable[STACK_MOST + 1];
	static const char name[] = "stack=";
	unsigned long bytes = 0, n = 0;

	while (name[n] && word[n] == name[n])
		n++;
	if (name[n])
		return 0;
	for (; word[n] >= '0' && word[n] <= '9' && bytes <= STACK_MOST; n++)
		bytes = bytes * 10 + (unsigned long)(word[n] - '0');
	for (unsigned long i = 0; i < bytes && i < STACK_MOST; i++)
		variable[i] = i == 1 ? '=' : '_';
	add_variable(variable);
	return 1;
}

/* Whether the word is program=<program>, and takes the name away. */
static int names_program(const char **word)
{
	static const char name[] = "program=";
	unsigned long n = 0;

	while (name[n] && (*word)[n] == name[n])
		n++;
	if (name[n])
		return 0;
	*word += n;
	return 1;
}

/* Puts bytes in the place of what is written with backslashes. */
static void decode(char *word)
{
	char *to = word;

	while (*word) {
		unsigned int digits = 0, value = 0;

		if (*word != '\\') {
			*to++ = *word++;
			continue;
		}
		for (word++; digits < 3 && word[digits] >= '0' && word[digits] <= '7'; digits++)
			value = value * 8 + (unsigned int)(word[digits] - '0');
		if (digits == 3 && value) {
			*to++ = (char)value;
			word += 3;
		}
	}
	*to = 0;
}

static void mark_region(unsigned int offset)
{
	if (control)
		control[offset / 4] = PROGRAM_REGION;
}

static int contains_slash(const char *path)
{
	for (; *path; path++)
		if (*path == '/')
			return 1;
	return 0;
}

/* Runs `argv`; searches for a name without a slash as a shell does. Returns minus the last error. */
static long execute(const char *const *argv)
{
	static const char *const places[] = { "/bin/", "/sbin/", "/usr/bin/" };
	char path[256];
	long error;

	if (contains_slash(argv[0]))
		return system_call(__NR_execve, (long)argv[0], (long)argv, (long)environment, 0);
	for (unsigned int i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		unsigned long prefix = length(places[i]), name = length(argv[0]);

		if (prefix + name >= sizeof(path))
			return -36; /* ENAMETOOLONG */
		for (unsigned long n = 0; n < prefix; n++)
			path[n] = places[i][n];
		for (unsigned long n = 0; n <= name; n++)
			path[prefix + n] = argv[0][n];
		error = system_call(__NR_execve, (long)path, (long)argv, (long)environment, 0);
		if (error != -2) /* ENOENT: search further */
			return error;
	}
	return -2;
}

static void child(const char *const *argv)
{
	enum { TIOCSCTTY = 0x540e };
	long error;

	system_call(__NR_setsid, 0, 0, 0, 0);
	system_call(__NR_ioctl, 0, TIOCSCTTY, 0, 0);
	error = execute(argv);
	say("init: cannot run ");
	say(argv[0]);
	say(": error ");
	say_number((unsigned long)-error);
	say("\n");
	system_call(__NR_exit_group, error == -2 ? 127 : 126, 0, 0, 0);
}

/* Waits for `pid`, and reaps orphans that end meanwhile; returns the wait status of `pid`, or minus an error. */
static long wait_for(long pid, int *status)
{
	for (;;) {
		long dead = system_call(__NR_wait4, -1, (long)status, 0, 0);

		if (dead == pid || (dead < 0 && dead != -4 /* EINTR */))
			return dead;
	}
}

/* Runs `argv` to its end. Returns the status that init ends with. */
static int run(const char *const *argv)
{
	enum { REGION_BEGIN = 0x00, REGION_END = 0x04 };
	int status = 0;
	long pid;

	mark_region(REGION_BEGIN);
	pid = system_call(__NR_fork, 0, 0, 0, 0);
	if (pid == 0)
		child(argv);
	if (pid < 0 || wait_for(pid, &status) < 0) {
		say("init: cannot start or wait for a process\n");
		return STATUS_OTHER;
	}
	mark_region(REGION_END);
	if (status & 0x7f) {
		say("init: ");
		say(argv[0]);
		say(": killed by signal ");
		say_number((unsigned long)(status & 0x7f));
		say("\n");
		return STATUS_OTHER;
	}
	status = (status >> 8) & 0xff;
	if (status >= STATUS_OTHER) {
		say("init: ");
		say(argv[0]);
		say(": exit status ");
		say_number((unsigned long)status);
		say("\n");
		return STATUS_OTHER;
	}
	return status;
}

int start_main(long *stack);

int start_main(long *stack)
{
	static const char *const rc[] = { "/etc/rc", 0 }, *const shell[] = { "/bin/sh", 0 };
	const char **words = (const char **)(stack + 1) + 1;
	const char *const *argv;

	prepare();
	open_console();
	if (control_variable)
		add_variable(control_variable);
	while (*words && !names_program(words) && (moves_stacks(*words) || has_unknown_words))
		words++;
	for (unsigned int i = 0; words[i]; i++)
		decode((char *)words[i]);
	if (*words)
		argv = words;
	else if (system_call(__NR_access, (long)rc[0], 1, 0, 0) == 0)
		argv = rc;
	else
		argv = shell;

	control = map_page(control_path, control_offset);
	return finish(run(argv));
}
