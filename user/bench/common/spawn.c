/* fork, exec, wait. */
#include "spawn.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

void bench_spawn(const char *path, char *const argv[])
{
	pid_t child = (pid_t)bench_check(fork(), "fork");
	int status;

	if (child == 0) {
		close(1);
		execv(path, argv);
		_exit(127);
	}
	bench_check(waitpid(child, &status, 0), "waitpid");
	if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) {
		errno = ENOENT;
		bench_die(path);
	}
}
