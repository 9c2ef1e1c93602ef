#!/bin/sh
# Builds GNU coreutils for PPC32, linked dynamically with glibc: each program of its own, as in distributions, to
# build/programs/coreutils.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=xz-utils need xz
need "${cross}gcc" gcc make
mkdir -p "$programs"
stamp coreutils && exit 0

tree=$(fetch coreutils)
mkdir "$tree/out"
# Its configure refuses to run as root unless told; manual pages would be made by running the programs.
(cd "$tree/out" && FORCE_UNSAFE_CONFIGURE=1 ../configure --build="$(gcc -dumpmachine)" --host=powerpc-linux-gnu --prefix=/usr \
	--disable-nls --disable-acl --disable-xattr --disable-libcap --without-gmp --without-selinux --without-openssl \
	--enable-no-install-program=stdbuf CC="${cross}gcc $machine_flags" CFLAGS=-O2 \
	LDFLAGS=-Wl,-z,max-page-size=4096 && make -j"$jobs" all man1_MANS= EXTRA_MANS=) \
	>"$tree/build.log" 2>&1 || fail "coreutils: the build failed, see $tree/build.log"
rm -rf "$programs/coreutils"
mkdir "$programs/coreutils"
# What has no suffix and is executable is a program, but for a tool of the build.
for program in "$tree"/out/src/*; do
	case ${program##*/} in
	*.* | make-prime-list) continue ;;
	esac
	[ ! -f "$program" ] || [ ! -x "$program" ] || "${cross}strip" -o "$programs/coreutils/${program##*/}" "$program"
done
[ -x "$programs/coreutils/ls" ] || fail "coreutils: no program ls, see $tree/build.log"
stamped coreutils
