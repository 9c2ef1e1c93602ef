/* A small file a few directories deep, like LmBench's /usr/include/sys/types.h. */
#ifndef PAGEWALK_BENCH_DEEP_H
#define PAGEWALK_BENCH_DEEP_H

#define BENCH_DEEP_PATH 64

void bench_deep_file(char path[BENCH_DEEP_PATH]);

#endif
