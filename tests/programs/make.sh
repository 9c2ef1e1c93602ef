#!/bin/sh
# Builds NetBSD's make (bmake) for PPC32, linked dynamically with glibc: build/programs/bin/glibc/make. Its source needs no
# further tools: GNU make's, as Debian has it, comes without its configure.
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" gcc make
mkdir -p "$programs/bin/glibc"
stamp make && exit 0

tree=$(fetch bmake)
mkdir "$tree/out"
(
	cd "$tree/out"
	../configure --build="$(gcc -dumpmachine)" --host=powerpc-linux-gnu --prefix=/usr --without-meta --with-machine=powerpc \
		--with-machine-arch=powerpc CC="${cross}gcc $machine_flags" CFLAGS=-O2
	sh ./make-bootstrap.sh
) >"$tree/build.log" 2>&1 || fail "make: the build failed, see $tree/build.log"
"${cross}strip" -o "$programs/bin/glibc/make" "$tree/out/bmake"
stamped make
