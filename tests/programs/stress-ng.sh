#!/bin/sh
# Builds stress-ng, static, with glibc: build/programs/bin/glibc/stress-ng. From Debian's source package; or, where the
# archive lacks it, from a folder with the source of the same release: stress-ng.sh [FOLDER].
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" make
[ $# -le 1 ] || fail "too many arguments; usage: stress-ng.sh [FOLDER]"
release=0.15.06
mkdir -p "$programs/bin/glibc"
stamp stress-ng && exit 0

if [ $# -eq 1 ]; then
	grep -q "^VERSION=$release\$" "$1/Makefile" 2>/dev/null || fail "$1: not a folder with the source of stress-ng $release"
	tree=$programs/src/stress-ng
	rm -rf "$tree"
	mkdir -p "$programs/src"
	cp -R "$1" "$tree"
else
	tree=$(fetch stress-ng)
fi
# Its Makefile asks `uname`, which tells of the host. What it finds of libraries is the cross compiler's.
make -C "$tree" -j"$jobs" stress-ng CC="${cross}gcc $machine_flags" MACHINE=$uname_machine STATIC=1 \
	LDFLAGS="$link_flags -z muldefs" >"$tree/build.log" 2>&1 ||
	fail "stress-ng: the build failed, see $tree/build.log"
publish glibc "$tree/stress-ng" stress-ng
stamped stress-ng
