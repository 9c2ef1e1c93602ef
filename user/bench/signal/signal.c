/* signal: installing a handler, and catching a signal, as LmBench's lat_sig install and catch. Catching is
 * kill(self, SIGUSR1) less kill(self, 0), so that what remains is delivery, handler and return. */
#include <signal.h>
#include <unistd.h>

#include "../common/bench.h"

static void handler(int signal_number)
{
	(void)signal_number;
}

static void install(void *context, unsigned long count)
{
	struct sigaction action, before;

	(void)context;
	while (count--) {
		action.sa_handler = handler;
		sigemptyset(&action.sa_mask);
		action.sa_flags = 0;
		bench_check(sigaction(SIGUSR1, &action, &before), "sigaction");
	}
}

static void send(void *signal_number, unsigned long count)
{
	pid_t self = getpid();

	while (count--)
		bench_check(kill(self, *(const int *)signal_number), "kill");
}

int main(int argc, char **argv)
{
	int none = 0, caught = SIGUSR1;
	unsigned int send_only;

	bench_start("signal", argc, argv, NULL, 500, 20);
	bench_row("signal-install", bench_measure(install, NULL), bench_iterations, 0, BENCH_US, 0);
	send_only = bench_measure(send, &none);
	bench_row("signal-send", send_only, bench_iterations, 0, BENCH_US, 0);
	bench_row("signal-handle", bench_measure(send, &caught), bench_iterations, 0, BENCH_US, send_only);
	return 0;
}
