#!/bin/sh
# Builds MicroPython's Unix port, static, with musl: build/programs/bin/musl/micropython. Left out is what needs another
# library (ffi, ssl, btree), threads, and modules compiled in: their test programs find asyncio's sources as files.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=xz-utils need xz
need "${cross}gcc" make python3
mkdir -p "$programs/bin/musl"
stamp micropython && exit 0

cc=$(compiler musl)
tree=$(fetch micropython)
# The version is the release's, not that of a repository in a folder above. Exceptions use setjmp, because the release's
# own code for PowerPC crashes 32-bit programs at the first exception.
MICROPY_GIT_TAG=v$(sed -n 's/^micropython micropython_\([0-9.]*\).*/\1/p' "$here/sources.txt") SOURCE_DATE_EPOCH=0 \
	make -C "$tree/ports/unix" -j"$jobs" BUILD="$tree/out" PROG=micropython VARIANT=standard FROZEN_MANIFEST= V=1 \
	CROSS_COMPILE="$cross" CC="$cc" LD="$cc" STRIP=true MICROPY_PY_BTREE=0 MICROPY_PY_FFI=0 MICROPY_PY_SSL=0 \
	MICROPY_PY_THREAD=0 CFLAGS_EXTRA="$machine_flags -DMICROPY_NLR_SETJMP=1" LDFLAGS_EXTRA="$link_flags" \
	>"$tree/build.log" 2>&1 || fail "micropython: the build failed, see $tree/build.log"
publish musl "$tree/out/micropython" micropython
stamped micropython
