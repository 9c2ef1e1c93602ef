#!/bin/sh
# Builds git, static, with glibc and zlib: build/programs/bin/glibc/git.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=xz-utils need xz
tool_package=bzip2 need bzip2
need "${cross}gcc" make
mkdir -p "$programs/bin/glibc"
stamp git && exit 0

zlib=$(fetch zlib)
(cd "$zlib" && CHOST=powerpc-linux-gnu CC="${cross}gcc" AR="${cross}ar" RANLIB="${cross}ranlib" \
	CFLAGS="-O2 $machine_flags" ./configure --static --prefix="$zlib/out" && make -j"$jobs" libz.a) >"$zlib/build.log" 2>&1 ||
	fail "zlib: the build failed, see $zlib/build.log"
tree=$(fetch git)
make -C "$tree" -j"$jobs" git CC="${cross}gcc $machine_flags" AR="${cross}ar" CFLAGS="-O2 -I$zlib" \
	LDFLAGS="-L$zlib $link_flags" uname_S=Linux uname_M=ppc uname_O=GNU/Linux uname_R=6.1 uname_P=ppc HOST_CPU=ppc \
	prefix=/usr NO_CURL=1 NO_OPENSSL=1 NO_EXPAT=1 NO_GETTEXT=1 NO_PERL=1 NO_PYTHON=1 NO_TCLTK=1 NO_ICONV=1 NO_REGEX=1 \
	NO_INSTALL_HARDLINKS=1 CSPRNG_METHOD=getrandom V=1 >"$tree/build.log" 2>&1 ||
	fail "git: the build failed, see $tree/build.log"
publish glibc "$tree/git" git
stamped git
