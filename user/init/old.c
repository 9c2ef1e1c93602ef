/* init for Linux from 2.1 on, as the first program of a root file system on a RAM disk.
 *
 * These kernels limit the words that they pass to init, and take a word with '=' for a variable. So the program
 * that is run, and its arguments, stand in the file /etc/command, each with a zero byte behind it. Before, init
 * writes what /etc/sysctl says to files of /proc/sys. The file /etc/placement, if there is one, has two lines:
 * frames=<pages>, which init keeps for itself, so that other programs get later ones, and stack=<bytes>, by which
 * the environment is longer. As init-linux does, it prints "init: ready" then, encloses the program in region
 * 65536, and hands its status to the control device through /dev/mem (docs/interfaces.md, sections 2 and 8). */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "syscall.h"

#define KERNEL_HALF    0x80000000ul
#define PROGRAM_HALF   0x80001000ul
#define POWER_OFF      (0xf08 / 4)
#define PROGRAM_REGION 65536
#define STATUS_OTHER   63
#define WORDS_MOST     64
#define BYTES_MOST     8192
#define PATH_MOST      128
#define STACK_MOST     4096
#define PAGE           4096

enum { REGION_BEGIN = 0x00 / 4, REGION_END = 0x04 / 4 };

static char *variables[] = { (char *)"PATH=/bin", (char *)"HOME=/", (char *)"PAGEWALK_CONTROL=/dev/mem", NULL, NULL };

static volatile unsigned int *map_device(unsigned long address)
{
	int fd = open("/dev/mem", O_RDWR);
	void *page;

	if (fd < 0)
		return NULL;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, address);
	close(fd);
	return page == MAP_FAILED ? NULL : page;
}

/* Ends the system. */
static void finish(int status)
{
	enum { TCSBRK = 0x2000741d, DRAIN = 1, MAGIC_1 = 0xfee1dead, MAGIC_2 = 0x28121969, RESTART = 0x01234567 };
	volatile unsigned int *device = map_device(KERNEL_HALF);

	fflush(stdout);
	/* The console may still have characters to send. */
	system_call(__NR_ioctl, 1, TCSBRK, DRAIN, 0);
	if (device)
		device[POWER_OFF] = (unsigned int)status;
	printf("init: this kernel has no /dev/mem: the program's status is lost\n");
	system_call(__NR_reboot, (long)MAGIC_1, MAGIC_2, RESTART, 0);
	for (;;)
		pause();
}

static void fail(const char *what)
{
	printf("init: %s: error %d\n", what, errno);
	finish(STATUS_OTHER);
}

static void open_console(void)
{
	if (open("/dev/console", O_RDWR) != 0)
		return;
	dup2(0, 1);
	dup2(0, 2);
}

/* The words of /etc/command; the last is followed by NULL. */
static char **read_command(void)
{
	static char text[BYTES_MOST + 1], *words[WORDS_MOST + 1];
	int fd = open("/etc/command", O_RDONLY), count = 0;
	ssize_t length = fd < 0 ? 0 : read(fd, text, BYTES_MOST);

	if (length <= 0)
		fail("/etc/command");
	close(fd);
	for (char *at = text; at < text + length && count < WORDS_MOST; at += strlen(at) + 1)
		words[count++] = at;
	return words;
}

/* Writes the values of /etc/sysctl, if there is one: a line for each, the file's name below /proc/sys and the value. */
static void write_settings(void)
{
	static char text[BYTES_MOST + 1];
	int fd = open("/etc/sysctl", O_RDONLY), at;
	char *name, *value;

	if (fd < 0)
		return;
	read(fd, text, BYTES_MOST);
	close(fd);
	for (name = strtok(text, " \n"); name && (value = strtok(NULL, " \n")); name = strtok(NULL, " \n")) {
		char path[PATH_MOST] = "/proc/sys/";

		if (strlen(path) + strlen(name) >= PATH_MOST)
			fail(name);
		at = open(strcat(path, name), O_WRONLY);
		if (at < 0 || write(at, value, strlen(value)) < 0)
			fail(path);
		close(at);
	}
}

/* Keeps so many pages. */
static void keep_frames(unsigned long count)
{
	char *pages = mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		fail("/etc/placement: frames");
	for (unsigned long i = 0; i < count; i++)
		pages[i * PAGE] = 1;
}

/* Makes the environment longer by so many bytes. */
static void move_stacks(unsigned long bytes)
{
	static char variable[STACK_MOST + 1];
	size_t last = sizeof(variables) / sizeof(variables[0]) - 2;

	if (bytes > STACK_MOST)
		fail("/etc/placement: stack");
	memset(variable, '_', bytes);
	if (bytes > 1)
		variable[1] = '=';
	variables[last] = variable;
}

static void place(void)
{
	static const char frames[] = "frames=", stack[] = "stack=";
	FILE *file = fopen("/etc/placement", "r");
	char line[PATH_MOST];

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, frames, sizeof(frames) - 1) == 0)
			keep_frames((unsigned long)strtoull(line + sizeof(frames) - 1, NULL, 10));
		else if (strncmp(line, stack, sizeof(stack) - 1) == 0)
			move_stacks((unsigned long)strtoull(line + sizeof(stack) - 1, NULL, 10));
	}
	fclose(file);
}

/* Returns the run's status: the program's own if below STATUS_OTHER; else STATUS_OTHER, and prints how it ended. */
static int told(const char *program, int status)
{
	if (!WIFEXITED(status)) {
		printf("init: %s: killed by signal %d\n", program, WTERMSIG(status));
		return STATUS_OTHER;
	}
	if (WEXITSTATUS(status) >= STATUS_OTHER) {
		printf("init: %s: exit status %d\n", program, WEXITSTATUS(status));
		return STATUS_OTHER;
	}
	return WEXITSTATUS(status);
}

static int run(char **words)
{
	volatile unsigned int *device = map_device(PROGRAM_HALF);
	pid_t child, dead;
	int status = 0;

	if (device)
		device[REGION_BEGIN] = PROGRAM_REGION;
	child = fork();
	if (child < 0)
		fail("fork");
	if (child == 0) {
		environ = variables;
		setsid();
		execv(words[0], words);
		printf("init: cannot run %s: error %d\n", words[0], errno);
		_exit(errno == ENOENT ? 127 : 126);
	}
	do
		dead = waitpid(-1, &status, 0);
	while (dead != child && (dead >= 0 || errno == EINTR));
	if (device)
		device[REGION_END] = PROGRAM_REGION;
	return told(words[0], status);
}

int main(void)
{
	char **words;

	open_console();
	mount("proc", "/proc", "proc", 0, NULL);
	words = read_command();
	write_settings();
	place();
	printf("init: ready\n");
	finish(run(words));
	return 0;
}
