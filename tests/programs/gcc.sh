#!/bin/sh
# Builds GCC 3.4's C compiler for PPC32 to run on the machine itself, with glibc: build/programs/bin/glibc/{gcc,cc1,collect2}.
# The driver `gcc` and `collect2`, by which it starts the linker, are linked dynamically, as in distributions; the compiler
# `cc1` is static. GCC's own headers go to build/programs/gcc-include, the C library's to build/programs/glibc-include. What
# programs are linked with goes to gcc-lib and glibc-lib. The source is that of Debian's package
# gcc-h8300-hms, which holds all of GCC 3.4.6's processors: the oldest GCC in bookworm, and the nearest to the papers.
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" gcc make
mkdir -p "$programs/bin/glibc" "$programs/apt"
stamp gcc && exit 0

# Debian's own changes are for another target.
echo 'APT::Get::Tar-Only "true";' >"$programs/apt/tar-only.conf"
export APT_CONFIG="$programs/apt/tar-only.conf"
tree=$(fetch gcc-h8300-hms)
# C of 2006 under a compiler of 2022.
old="-std=gnu89 -fcommon -w -fno-strict-aliasing"
mkdir "$tree/out"
(
	cd "$tree/out"
	export CC="${cross}gcc $machine_flags $old" CC_FOR_BUILD="gcc $old" CFLAGS=-O2 AR="${cross}ar" RANLIB="${cross}ranlib"
	../configure --build="$(gcc -dumpmachine)" --host=powerpc-linux-gnu --target=powerpc-linux-gnu --prefix=/usr --disable-nls \
		--enable-languages=c --disable-multilib --disable-shared --with-cpu=604
	make -j"$jobs" MAKEINFO=true configure-gcc all-libiberty all-build-libiberty
	make -j"$jobs" -C gcc CC_FOR_BUILD="$CC_FOR_BUILD" CFLAGS=-O2 CFLAGS_FOR_BUILD=-O1 cc1 xgcc collect2
	rm gcc/cc1
	make -C gcc CC_FOR_BUILD="$CC_FOR_BUILD" CFLAGS=-O2 CFLAGS_FOR_BUILD=-O1 LDFLAGS=-static cc1
) >"$tree/build.log" 2>&1 || fail "gcc: the build failed, see $tree/build.log"
"${cross}strip" -o "$programs/bin/glibc/gcc" "$tree/out/gcc/xgcc"
"${cross}strip" -o "$programs/bin/glibc/cc1" "$tree/out/gcc/cc1"
"${cross}strip" -o "$programs/bin/glibc/collect2" "$tree/out/gcc/collect2"
rm -rf "$programs/gcc-include" "$programs/glibc-include" "$programs/gcc-lib" "$programs/glibc-lib"
mkdir "$programs/gcc-include" "$programs/gcc-lib" "$programs/glibc-lib"
(
	cd "$tree/gcc"
	cp ginclude/stddef.h ginclude/stdarg.h ginclude/stdbool.h ginclude/float.h ginclude/iso646.h "$programs/gcc-include"
	cat limitx.h glimits.h limity.h >"$programs/gcc-include/limits.h"
	cp gsyslimits.h "$programs/gcc-include/syslimits.h"
)
# The guest has little memory, so that headers for C++ and for single devices stay out. Of Linux's own, those stay that the
# C library's headers include, and that these include in turn.
cp -rL /usr/powerpc-linux-gnu/include "$programs/glibc-include"
(
	cd "$programs/glibc-include"
	rm -rf c++ drm misc mtd rdma scsi sound video xen
	mv linux ../linux-include
	mkdir linux
	while :; do
		for header in $(grep -rho 'include *<linux/[^>]*>' . | sed 's/.*<linux\/\(.*\)>/\1/' | sort -u); do
			[ -e "linux/$header" ] || [ ! -e "../linux-include/$header" ] || echo "$header"
		done >../linux-wanted
		[ -s ../linux-wanted ] || break
		while read -r header; do
			mkdir -p "linux/$(dirname "$header")"
			cp "../linux-include/$header" "linux/$header"
		done <../linux-wanted
	done
	rm -r ../linux-include ../linux-wanted
)
# GCC 3.4 would need a C compiler of its own on this computer to make its libgcc; that of the cross compiler does as well.
for part in crtbegin.o crtend.o libgcc.a; do
	"${cross}strip" --strip-debug -o "$programs/gcc-lib/$part" "$("${cross}gcc" -print-file-name=$part)"
done
# GCC 3.4's driver links every program with the functions that save and restore registers.
"${cross}gcc" -c -x assembler-with-cpp -I"$tree/gcc/config/rs6000" -o "$programs/gcc-lib/crtsavres.o" \
	"$tree/gcc/config/rs6000/crtsavres.asm"
for part in crt1.o crti.o crtn.o libc_nonshared.a libm.so.6; do
	cp -L "$("${cross}gcc" -print-file-name=$part)" "$programs/glibc-lib/$part"
done
# As the C library's own libc.so, with the guest's paths.
echo 'OUTPUT_FORMAT(elf32-powerpc) GROUP(/lib/libc.so.6 /usr/lib/libc_nonshared.a AS_NEEDED(/lib/ld.so.1))' \
	>"$programs/glibc-lib/libc.so"
stamped gcc
