#!/bin/sh
# Builds Redis, static, with glibc: build/programs/bin/glibc/redis-{server,cli,benchmark}.
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" make
mkdir -p "$programs/bin/glibc"
stamp redis && exit 0

tree=$(fetch redis)
# Its Makefile asks `uname`, which tells of the host. Atomic accesses to 64 bits are libatomic's on this processor.
make -C "$tree/src" -j"$jobs" redis-server redis-cli redis-benchmark CC="${cross}gcc $machine_flags" AR="${cross}ar" \
	RANLIB="${cross}ranlib" MALLOC=libc BUILD_TLS=no USE_SYSTEMD=no uname_M=$uname_machine OPTIMIZATION=-O2 LDFLAGS="$link_flags" \
	FINAL_LIBS="-lm -ldl -pthread -lrt -latomic" \
	V=1 >"$tree/build.log" 2>&1 || fail "redis: the build failed, see $tree/build.log"
for program in server cli benchmark; do
	publish glibc "$tree/src/redis-$program" redis-$program
done
stamped redis
