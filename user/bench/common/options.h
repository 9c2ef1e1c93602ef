/* Parameters of a benchmark row: `name=value` words, the same form as the kernel's command line. */
#ifndef PAGEWALK_BENCH_OPTIONS_H
#define PAGEWALK_BENCH_OPTIONS_H

#include "bench.h"

/* Sets the options that the words name. An unknown name or a value out of range ends the program with a list of what is
 * allowed. */
void bench_parse_options(const char *program, int argc, char **argv, const struct bench_option *common,
			 const struct bench_option *own);

#endif
