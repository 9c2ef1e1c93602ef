/* suite: runs a list of programs one after the other, and shows the output and the end of each.
 *
 *   suite <list>
 *
 * A line of the list is a name, a time limit in seconds, and a command with its arguments, separated by tabs. Each
 * command runs in /tmp, in a process group of its own, with empty standard input. It writes to a pipe, so that it sees
 * the same kind of file wherever the suite itself writes to. When it ends, the rest of its group is killed.
 *
 *   @begin <name>
 *   ... its output ...
 *   @end <name> status=<n> | signal=<n> | timeout
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARGUMENTS_MOST 32

static void die(const char *what)
{
	fprintf(stderr, "suite: %s: %s\n", what, strerror(errno));
	exit(2);
}

/* For a child: its exit must not move the position of the list file, which it shares with its parent. */
static void die_alone(const char *what)
{
	fprintf(stderr, "suite: %s: %s\n", what, strerror(errno));
	_exit(2);
}

static long seconds(void)
{
	struct timespec now;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		die("clock_gettime");
	return (long)now.tv_sec;
}

static void run(char *const argv[], const int ends[2])
{
	int null = open("/dev/null", O_RDONLY);

	setpgid(0, 0);
	signal(SIGTTOU, SIG_DFL);
	dup2(null, 0);
	dup2(ends[1], 1);
	dup2(ends[1], 2);
	close(null);
	close(ends[0]);
	close(ends[1]);
	if (chdir("/tmp") < 0)
		die_alone("/tmp");
	execvp(argv[0], argv);
	die_alone(argv[0]);
}

/* Copies what the case writes until every writer is gone or `deadline` comes. Returns whether everything was read.
 * Completes an incomplete last line, so that the marker after it begins a line. */
static int copy_output(int from, long deadline, char *last)
{
	char buffer[4096];
	struct pollfd asked = { .fd = from, .events = POLLIN };

	for (;;) {
		long left = deadline - seconds();
		ssize_t n;
		int ready = left > 0 ? poll(&asked, 1, (int)(left < 1000 ? left * 1000 : 1000000)) : 0;

		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return 0;
		n = read(from, buffer, sizeof(buffer));
		if (n <= 0)
			return 1;
		*last = buffer[n - 1];
		for (ssize_t done = 0; done < n;) {
			ssize_t m = write(1, buffer + done, (size_t)(n - done));

			if (m < 0)
				die("standard output");
			done += m;
		}
	}
}

static void run_case(const char *name, long limit, char *const argv[])
{
	long deadline = seconds() + limit;
	int ends[2], status = 0, complete;
	char last = '\n';
	int tty = open("/dev/tty", O_RDWR | O_CLOEXEC);
	pid_t child;

	printf("@begin %s\n", name);
	fflush(stdout);
	if (pipe(ends) < 0)
		die("pipe");
	child = fork();
	if (child == 0)
		run(argv, ends);
	if (child < 0)
		die("fork");
	setpgid(child, child);
	/* Make the case's group the terminal's foreground group, as a shell would, so that a shell in it may control
	 * jobs. */
	if (tty >= 0)
		tcsetpgrp(tty, child);
	close(ends[1]);
	complete = copy_output(ends[0], deadline, &last);
	/* A program may close its output before it ends. */
	while (complete && waitpid(child, &status, WNOHANG) == 0) {
		if (seconds() >= deadline) {
			complete = 0;
			break;
		}
		usleep(1000);
	}
	if (tty >= 0) {
		tcsetpgrp(tty, getpgrp());
		close(tty);
	}
	kill(-child, SIGKILL);
	if (!complete) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
		copy_output(ends[0], seconds() + 2, &last);
	}
	close(ends[0]);
	if (last != '\n')
		printf("\n");
	if (!complete)
		printf("@end %s timeout\n", name);
	else if (WIFSIGNALED(status))
		printf("@end %s signal=%d\n", name, WTERMSIG(status));
	else
		printf("@end %s status=%d\n", name, WEXITSTATUS(status));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char *line = NULL;
	size_t room = 0;
	FILE *list;
	ssize_t n;

	if (argc != 2) {
		fprintf(stderr, "usage: suite <list>\n");
		return 2;
	}
	signal(SIGTTOU, SIG_IGN);
	list = fopen(argv[1], "re");
	if (!list)
		die(argv[1]);
	while ((n = getline(&line, &room, list)) > 0) {
		char *words[ARGUMENTS_MOST + 3], *rest = line, *word;
		int count = 0;

		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		while (count < ARGUMENTS_MOST + 2 && (word = strsep(&rest, "\t")))
			words[count++] = word;
		words[count] = NULL;
		if (count < 3) {
			fprintf(stderr, "suite: %s: a line needs a name, a number of seconds and a command\n", argv[1]);
			return 2;
		}
		run_case(words[0], strtol(words[1], NULL, 10), words + 2);
	}
	fclose(list);
	printf("@done\n");
	return 0;
}
