#!/bin/sh
# Builds the assembler and the linker of GNU binutils for PPC32 to run on the machine itself, linked dynamically with glibc:
# build/programs/bin/glibc/{as,ld}. They are those of bookworm, because today's C library is linked with them. Debian also
# has those of GCC 3.4's year (2.16.1, binutils-h8300-hms), which were not tried.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=xz-utils need xz
need "${cross}gcc" gcc make
mkdir -p "$programs/bin/glibc"
stamp binutils && exit 0

tree=$(fetch binutils)
mkdir "$tree/out"
(cd "$tree/out" && ../configure --build="$(gcc -dumpmachine)" --host=powerpc-linux-gnu --target=powerpc-linux-gnu --prefix=/usr \
	--disable-nls --disable-werror --disable-shared --disable-plugins --disable-gprofng --disable-gprof --disable-gold \
	--disable-multilib --without-zstd --without-debuginfod CC="${cross}gcc $machine_flags" CFLAGS=-O2 \
	LDFLAGS=-Wl,-z,max-page-size=4096 &&
	make -j"$jobs" MAKEINFO=true all-gas all-ld) >"$tree/build.log" 2>&1 || fail "binutils: the build failed, see $tree/build.log"
"${cross}strip" -o "$programs/bin/glibc/as" "$tree/out/gas/as-new"
"${cross}strip" -o "$programs/bin/glibc/ld" "$tree/out/ld/ld-new"
stamped binutils
