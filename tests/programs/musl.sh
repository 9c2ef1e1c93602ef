#!/bin/sh
# Builds musl as a static C library with a compiler driver of its own: build/programs/musl-sysroot (common.sh: for PPC32, or
# for an i386).
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" make
mkdir -p "$programs"
# For an i386 the compiler's own library, too: the host's has no form for an i486.
library=
[ "${PROGRAMS_ARCH:-ppc}" != x86 ] || library="$root/kernel/arch/x86/library.c $here/x86-library.c"
stamp musl "$(cat /dev/null $library | sha256sum)" && exit 0

tree=$(fetch musl)
sysroot=$programs/musl-sysroot
rm -rf "$sysroot"
cd "$tree"
if [ "${PROGRAMS_ARCH:-ppc}" = x86 ]; then
	./configure --target=i386-linux-musl --prefix="$sysroot" --syslibdir="$sysroot/lib" --disable-shared \
		--disable-wrapper CC="${cross}gcc $machine_flags -fno-pie" CFLAGS="-O2" LIBCC=" " >configure.log 2>&1 || fail "musl: configure failed, see $tree/configure.log"
	make -j"$jobs" AR="${cross}ar" RANLIB="${cross}ranlib" install >build.log 2>&1 || fail "musl: the build failed, see $tree/build.log"
	multiarch=/usr/include/$("${cross}gcc" -print-multiarch)
	for part in linux asm-generic mtd; do
		ln -s "/usr/include/$part" "$sysroot/include/$part"
	done
	ln -s "$multiarch/asm" "$sysroot/include/asm"
	for source in $library; do
		"${cross}gcc" $machine_flags -std=gnu11 -O2 -ffreestanding -c \
			-I"$root/kernel/include" -I"$root/kernel/arch/x86/include" -I"$root/kernel/genarch/include" \
			-o "$tree/$(basename "$source" .c).o" "$source" || fail "musl: the compiler's library does not compile"
	done
	"${cross}ar" rcs "$sysroot/lib/libgcc.a" "$tree/library.o" "$tree/x86-library.o"
	mkdir -p "$sysroot/bin"
	cat >"$sysroot/lib/musl-gcc.specs" <<EOF
%rename cpp_options old_cpp_options

*cpp_options:
-nostdinc -isystem $sysroot/include -isystem include%s %(old_cpp_options)

*cc1:
%(cc1_cpu) -nostdinc -isystem $sysroot/include -isystem include%s

*link_libgcc:
-L$sysroot/lib

*libgcc:
$sysroot/lib/libgcc.a

*startfile:
$sysroot/lib/crt1.o $sysroot/lib/crti.o

*endfile:
$sysroot/lib/crtn.o

*link:
-m elf_i386 -nostdlib -static

*esp_link:


*esp_options:


*esp_cpp_options:


EOF
	cat >"$sysroot/bin/musl-gcc" <<EOF
#!/bin/sh
exec ${cross}gcc $machine_flags -no-pie -fno-pie -specs "$sysroot/lib/musl-gcc.specs" "\$@"
EOF
	chmod +x "$sysroot/bin/musl-gcc"
	stamped musl
	exit 0
fi
# musl wants a long double of 64 bits here; glibc's compiler defaults to IBM's pair of doubles.
./configure --target=powerpc-linux-gnu --prefix="$sysroot" --syslibdir="$sysroot/lib" --disable-shared \
	--enable-wrapper=gcc CROSS_COMPILE="$cross" CC="${cross}gcc" \
	CFLAGS="-O2 $machine_flags -mlong-double-64" >configure.log 2>&1 || fail "musl: configure failed, see $tree/configure.log"
make -j"$jobs" install >build.log 2>&1 || fail "musl: the build failed, see $tree/build.log"
# The kernel's own headers, which are the C library's neighbours.
for part in linux asm asm-generic mtd; do
	ln -s "/usr/powerpc-linux-gnu/include/$part" "$sysroot/include/$part"
done
# The driver takes the flags that every user of this library needs.
wrapper=$sysroot/bin/musl-gcc
mv "$wrapper" "$wrapper.plain"
cat >"$wrapper" <<EOF
#!/bin/sh
exec "$wrapper.plain" -mlong-double-64 "\$@"
EOF
chmod +x "$wrapper"
stamped musl
