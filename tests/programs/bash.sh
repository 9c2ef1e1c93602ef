#!/bin/sh
# Builds bash for PPC32, linked dynamically with glibc: build/programs/bin/glibc/bash.
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" gcc make
mkdir -p "$programs/bin/glibc"
stamp bash && exit 0

tree=$(fetch bash)
mkdir "$tree/out"
(cd "$tree/out" && ../configure --build="$(gcc -dumpmachine)" --host=powerpc-linux-gnu --prefix=/usr --disable-nls \
	--without-bash-malloc CC="${cross}gcc $machine_flags" CFLAGS=-O2 CC_FOR_BUILD=gcc && make -j"$jobs" bash) \
	>"$tree/build.log" 2>&1 || fail "bash: the build failed, see $tree/build.log"
"${cross}strip" -o "$programs/bin/glibc/bash" "$tree/out/bash"
stamped bash
