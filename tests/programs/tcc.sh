#!/bin/sh
# Builds TinyCC for PPC32 as a cross compiler to i386, static: build/programs/bin/{glibc,musl}/i386-tcc. Its source is
# left in build/programs/src/tcc: what the compile workload compiles.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=bzip2 need bzip2
need gcc "${cross}gcc" make
mkdir -p "$programs/bin/glibc" "$programs/bin/musl"
stamp tcc && exit 0

tree=$(fetch tcc)
cd "$tree"
# TinyCC keeps the value of an integer token as the first word of a 64-bit integer, which is its low word on
# little-endian hosts only. (Objects come out in the host's byte order; what is tested is the compiler's run.)
sed -i '/case TOK_LINENUM:/,/break;/s/str\[len++\] = cv->tab\[0\];/str[len++] = t == TOK_CFLOAT ? cv->tab[0] : (int)cv->i;/' tccpp.c
grep -q 'TOK_CFLOAT ? cv->tab' tccpp.c || fail "tcc: tccpp.c is not as expected"
# config.h only: what the compiler was built for is given by the defines below.
./configure --cc=gcc >configure.log 2>&1 || fail "tcc: configure failed, see $tree/configure.log"
for libc in $libcs; do
	# One translation unit (libtcc.c includes the rest); TinyCC's headers are looked for below /lib/tcc.
	$(compiler $libc) -O2 $machine_flags $link_flags -w -fno-strict-aliasing -DTCC_TARGET_I386 -DONE_SOURCE=1 \
		-DCONFIG_TCC_STATIC=1 -DCONFIG_TCCDIR='"/lib/tcc"' -DCONFIG_TCC_CROSSPREFIX='"i386-"' -DCONFIG_TCC_SYSINCLUDEPATHS='"{B}/include"' \
		-DCONFIG_TCC_SEMLOCK=0 -I. -o i386-tcc tcc.c -lm >"build-$libc.log" 2>&1 ||
		fail "tcc ($libc): the build failed, see $tree/build-$libc.log"
	publish $libc i386-tcc i386-tcc
done
stamped tcc
