#!/bin/sh
# Builds musl for PPC32 as a static C library with a compiler driver of its own: build/programs/musl-sysroot.
set -eu
. "$(dirname "$0")/common.sh"

need "${cross}gcc" make
mkdir -p "$programs"
stamp musl && exit 0

tree=$(fetch musl)
sysroot=$programs/musl-sysroot
rm -rf "$sysroot"
cd "$tree"
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
