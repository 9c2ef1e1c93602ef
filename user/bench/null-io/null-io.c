/* null-io: one byte read from /dev/zero and one byte written to /dev/null, as LmBench's "null I/O" (lat_syscall
 * read, write); the row null-io is the mean of both. */
#include <fcntl.h>
#include <unistd.h>

#include "../common/bench.h"

static int zero, null;

static void read_byte(void *context, unsigned long count)
{
	char c;

	(void)context;
	while (count--)
		bench_check(read(zero, &c, 1), "read");
}

static void write_byte(void *context, unsigned long count)
{
	char c = 0;

	(void)context;
	while (count--)
		bench_check(write(null, &c, 1), "write");
}

static void both(void *context, unsigned long count)
{
	char c;

	(void)context;
	while (count--) {
		bench_check(read(zero, &c, 1), "read");
		bench_check(write(null, &c, 1), "write");
	}
}

int main(int argc, char **argv)
{
	bench_start("null-io", argc, argv, NULL, 1000, 50);
	zero = (int)bench_check(open("/dev/zero", O_RDONLY), "/dev/zero");
	null = (int)bench_check(open("/dev/null", O_WRONLY), "/dev/null");
	bench_row("null-read", bench_measure(read_byte, NULL), bench_iterations, 0, BENCH_US, 0);
	bench_row("null-write", bench_measure(write_byte, NULL), bench_iterations, 0, BENCH_US, 0);
	bench_row("null-io", bench_measure(both, NULL), 2ull * bench_iterations, 0, BENCH_US, 0);
	return 0;
}
