/* file-reread: reads a file that is in memory in pieces of 64 KB and adds up every word, as LmBench's bw_file_rd
 * io_only; file-reread-open opens and closes the file each time (open2close). */
#include <fcntl.h>
#include <unistd.h>

#include "../common/bench.h"

struct file {
	const char *path;
	int fd;
	unsigned long size, chunk;
	void *buffer;
};

static void read_through(struct file *file)
{
	for (unsigned long left = file->size; left;) {
		unsigned long n = left < file->chunk ? left : file->chunk;

		bench_read_all(file->fd, file->buffer, n);
		bench_use(bench_sum(file->buffer, n));
		left -= n;
	}
}

static void reread(void *context, unsigned long count)
{
	struct file *file = context;

	while (count--) {
		bench_check(lseek(file->fd, 0, SEEK_SET), "lseek");
		read_through(file);
	}
}

static void open_and_read(void *context, unsigned long count)
{
	struct file *file = context;

	while (count--) {
		file->fd = (int)bench_check(open(file->path, O_RDONLY), file->path);
		read_through(file);
		close(file->fd);
	}
}

int main(int argc, char **argv)
{
	struct file file = { .size = 2 << 20, .chunk = 64 << 10 };
	const struct bench_option options[] = {
		BENCH_NUMBER("size", &file.size, 4096, 1 << 30, "bytes of the file"),
		BENCH_NUMBER("chunk", &file.chunk, 4, 1 << 24, "bytes of one read"),
		BENCH_END,
	};
	unsigned long long bytes;

	bench_start("file-reread", argc, argv, options, 2, 1);
	bytes = (unsigned long long)file.size * bench_iterations;
	file.buffer = bench_memory(file.chunk);
	file.path = bench_file("file-reread", file.size);
	file.fd = (int)bench_check(open(file.path, O_RDONLY), file.path);
	bench_row("file-reread", bench_measure(reread, &file), bench_iterations, bytes, BENCH_MBS, 0);
	close(file.fd);
	bench_row("file-reread-open", bench_measure(open_and_read, &file), bench_iterations, bytes, BENCH_MBS, 0);
	unlink(file.path);
	return 0;
}
