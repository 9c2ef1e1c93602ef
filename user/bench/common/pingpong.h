/* Two processes that pass a message back and forth. */
#ifndef PAGEWALK_BENCH_PINGPONG_H
#define PAGEWALK_BENCH_PINGPONG_H

/* The measuring process writes to `out` and reads from `in`; the helper reads from `helper_in` and writes to
 * `helper_out`. For a socket pair both descriptors of a side are the same. Prints the row `name`: the time of a round
 * trip of a message of `size` bytes. */
void bench_pingpong(const char *name, int out, int in, int helper_in, int helper_out, unsigned long size);

/* A helper writes messages of `size` bytes to `to`, the measuring process reads `total` bytes from `from` each
 * iteration, into a buffer that begins `offset` bytes into a page. Prints the row `name` in MB/s. */
void bench_stream(const char *name, int from, int to, unsigned long size, unsigned long total, unsigned long offset);

#endif
