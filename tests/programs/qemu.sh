#!/bin/sh
# Puts a statically linked qemu-ppc (common.sh: or qemu-i386) at build/programs/qemu-ppc-static: the tests' reference runs programs in a root
# directory of their own, where a dynamically linked one would not find its libraries. Debian's binary package is
# unpacked, not installed.
set -eu
. "$(dirname "$0")/common.sh"

need apt-get dpkg
mkdir -p "$programs"
stamp qemu && exit 0

out=$programs/src/qemu
rm -rf "$out"
mkdir -p "$out"
cd "$out"
# The sandboxed downloader may not write here; that is harmless.
apt-get -qq -o APT::Sandbox::User= -o Acquire::Retries=3 download qemu-user-static >apt.log 2>&1 ||
	fail "cannot download the package qemu-user-static: $(tail -n 1 apt.log)"
dpkg -x qemu-user-static_*.deb .
cp "usr/bin/qemu-$qemu_arch-static" "$programs/qemu-$qemu_arch-static"
rm -rf "$out"
stamped qemu
