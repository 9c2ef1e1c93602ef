#!/bin/sh
# Builds Lua, static, with glibc and with musl: build/programs/bin/{glibc,musl}/lua.
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" make
mkdir -p "$programs/bin/glibc" "$programs/bin/musl"
stamp lua && exit 0

tree=$(fetch lua5.4)
for libc in $libcs; do
	make -C "$tree/src" clean >/dev/null
	make -C "$tree/src" -j"$jobs" lua CC="$(compiler $libc) -std=gnu99" AR="${cross}ar rcu" RANLIB="${cross}ranlib" \
		SYSCFLAGS="-DLUA_USE_POSIX $machine_flags" SYSLDFLAGS="$link_flags" >"$tree/build-$libc.log" 2>&1 ||
		fail "lua ($libc): the build failed, see $tree/build-$libc.log"
	publish $libc "$tree/src/lua" lua
done
stamped lua
