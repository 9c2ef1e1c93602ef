#!/bin/sh
# Builds SQLite's shell, static, with glibc and with musl: build/programs/bin/{glibc,musl}/sqlite3.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=tcl need tclsh
tool_package=xz-utils need xz
need gcc "${cross}gcc" make
mkdir -p "$programs/bin/glibc" "$programs/bin/musl"
stamp sqlite && exit 0

tree=$(fetch sqlite3)
mkdir -p "$tree/out"
cd "$tree/out"
# The amalgamation (one C file) is made by the host's tools; only it is cross-compiled.
../configure --disable-tcl --disable-readline >configure.log 2>&1 || fail "sqlite: configure failed, see $PWD/configure.log"
make -j"$jobs" sqlite3.c shell.c >amalgamation.log 2>&1 || fail "sqlite: no amalgamation, see $PWD/amalgamation.log"
for libc in $libcs; do
	$(compiler $libc) -O1 $machine_flags $link_flags -w -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION \
		-DSQLITE_ENABLE_FTS5 -DSQLITE_ENABLE_MATH_FUNCTIONS -I. -o sqlite3-$libc shell.c sqlite3.c -lm \
		>"build-$libc.log" 2>&1 || fail "sqlite ($libc): the build failed, see $PWD/build-$libc.log"
	publish $libc sqlite3-$libc sqlite3
done
stamped sqlite
