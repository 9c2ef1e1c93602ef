#!/bin/bash
# gcc-job.sh <jobs> <source directory> <output directory> <wait>: compiles every C file of a directory with GCC to an object,
# `jobs` at a time, and prints checksums; for the benchmark `compile`, as compile.sh. The shell is bash. The driver `gcc` is
# linked dynamically and starts the compiler cc1 and the assembler, with a pipe between them, as Linux/PPC was compiled
# (arch/ppc/Makefile of 2.4 and 2.5: -pipe). Each job waits so many microseconds before each file, as for a disk (none by
# default). Where /bench/daemons.sh is there, it is started before. Ends with another status than 0 if a file cannot be
# compiled.
set -e
jobs=$1
source=$2
output=$3
wait=${4:-0}
mkdir -p "$output"
[ ! -e /bench/daemons.sh ] || . /bench/daemons.sh

# One worker takes every jobs-th file.
worker() {
	number=0
	for file in "$source"/*.c; do
		if [ $((number % jobs)) -eq "$1" ]; then
			[ "$wait" -eq 0 ] || usleep "$wait"
			name=${file##*/}
			gcc -O2 -pipe -std=gnu99 -I/usr/src/include -include /usr/src/include/autoconf.h -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 \
				-DNDEBUG -DBB_VER='"1"' -c -o "$output/${name%.c}.o" "$file"
		fi
		number=$((number + 1))
	done
}

job=0
workers=
while [ "$job" -lt "$jobs" ]; do
	worker "$job" &
	workers="$workers $!"
	job=$((job + 1))
done
for worker in $workers; do
	wait "$worker"
done
cksum "$output"/*.o | while read -r sum size path; do
	echo "$sum $size ${path##*/}"
done
