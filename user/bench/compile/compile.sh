#!/bin/sh
# compile.sh <jobs> <source directory> <output directory> <wait>: compiles every C file of a directory with TinyCC, `jobs`
# at a time, links the objects and prints checksums: processes, files and computation mixed, as a kernel compile is. Each
# job waits so many microseconds before each file, as for a disk (none by default). Ends with another status than 0 if a
# file cannot be compiled.
set -e
jobs=$1
source=$2
output=$3
wait=${4:-0}
mkdir -p "$output"

# One worker takes every jobs-th file.
worker() {
	number=0
	for file in "$source"/*.c; do
		if [ $((number % jobs)) -eq "$1" ]; then
			[ "$wait" -eq 0 ] || usleep "$wait"
			name=$(basename "$file" .c)
			i386-tcc -I/lib/tcc/include -I/usr/include -c -o "$output/$name.o" "$file"
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

# Two main programs in one directory: the library is everything else.
objects=$(ls "$output"/*.o | grep -v -e /lua.o -e /luac.o)
i386-tcc -nostdlib -shared -o "$output/library.so" $objects
cksum "$output"/*.o "$output/library.so" | while read -r sum size path; do
	echo "$sum $size $(basename "$path")"
done
