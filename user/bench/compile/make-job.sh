#!/bin/bash
# make-job.sh <jobs> <source directory> <output directory> <wait>: builds a part of a library by make, as a kernel is built, and
# prints checksums; for the benchmark `compile`, as gcc-job.sh. The makefile (tree.mk) says what runs. `jobs` commands run at a
# time, and a command waits so many microseconds before each file, as for a disk. Ends with another status than 0 if a step
# fails.
set -e
output=$3
rm -rf "$output"
mkdir -p "$output"
cd "$output"
jobs=
[ "$1" -eq 1 ] || jobs=-j$1
make -r $jobs -f /bench/tree.mk SOURCE="$2" WAIT="${4:-0}"
cksum */*.o library.o | while read -r sum size path; do
	echo "$sum $size $path"
done
