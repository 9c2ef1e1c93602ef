/* dd: copies blocks from /dev/zero to a file or a device with one read and one write for each block, as `dd
 * if=/dev/zero of=file bs=4k count=3840` does. The file is new each time; a device is written from its beginning. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/bench.h"

struct copy {
	const char *to;
	unsigned long size, blocks;
	void *buffer;
};

static void copy_blocks(void *context, unsigned long count)
{
	struct copy *copy = context;

	while (count--) {
		int from = (int)bench_check(open("/dev/zero", O_RDONLY), "/dev/zero");
		int to = (int)bench_check(open(copy->to, O_WRONLY | O_CREAT | O_TRUNC, 0644), copy->to);

		for (unsigned long block = 0; block < copy->blocks; block++) {
			bench_read_all(from, copy->buffer, copy->size);
			bench_write_all(to, copy->buffer, copy->size);
		}
		close(from);
		close(to);
	}
}

int main(int argc, char **argv)
{
	struct copy copy = { .to = "/tmp/dd", .size = 4096, .blocks = 3840 };
	const struct bench_option options[] = {
		BENCH_WORD("to", &copy.to, NULL, "the file or device that is written"),
		BENCH_NUMBER("size", &copy.size, 1, 1 << 24, "bytes of a block"),
		BENCH_NUMBER("blocks", &copy.blocks, 1, 1 << 24, "blocks that are copied"),
		BENCH_END,
	};

	bench_start("dd", argc, argv, options, 1, 0);
	copy.buffer = bench_memory(copy.size);
	bench_row("dd", bench_measure(copy_blocks, &copy), bench_iterations,
		  (unsigned long long)copy.size * copy.blocks * bench_iterations, BENCH_US, 0);
	return 0;
}
