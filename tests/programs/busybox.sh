#!/bin/sh
# Builds busybox, static, with glibc and with musl: build/programs/bin/{glibc,musl}/busybox; its test suite is left in
# build/programs/src/busybox/testsuite.
set -eu
. "$(dirname "$0")/common.sh"

tool_package=bzip2 need bzip2
need "${cross}gcc" make
mkdir -p "$programs/bin/glibc" "$programs/bin/musl"
stamp busybox && exit 0

# Left out of the default configuration: what needs other kernels' interfaces or more of a network than loopback.
left_out="TC SELINUX FEATURE_INETD_RPC FEATURE_MOUNT_NFS FEATURE_HAVE_RPC PAM INETD UBIATTACH UBIDETACH UBIMKVOL UBIRMVOL
UBIRSVOL UBIUPDATEVOL UBIRENAME FEATURE_VI_REGEX_SEARCH NANDWRITE NANDDUMP FLASHCP FLASH_ERASEALL FLASH_LOCK
FLASH_UNLOCK I2CGET I2CSET I2CDUMP I2CDETECT I2CTRANSFER FEATURE_SH_STANDALONE FEATURE_PREFER_APPLETS
FEATURE_SH_NOFORK FEATURE_SUID FEATURE_USE_BSS_TAIL"

# The build's date would make two builds differ.
export KCONFIG_NOTIMESTAMP=1

tree=$(fetch busybox)
for libc in $libcs; do
	out=$programs/src/busybox-$libc
	rm -rf "$out"
	mkdir -p "$out"
	cd "$tree"
	make O="$out" defconfig >"$out/build.log" 2>&1 || fail "busybox: defconfig failed, see $out/build.log"
	cd "$out"
	for option in $left_out; do
		sed -i "s/^CONFIG_$option=y/# CONFIG_$option is not set/" .config
	done
	sed -i -e "s/^# CONFIG_STATIC is not set/CONFIG_STATIC=y/" \
		-e "s/^CONFIG_EXTRA_CFLAGS=.*/CONFIG_EXTRA_CFLAGS=\"$machine_flags\"/" \
		-e "s/^CONFIG_EXTRA_LDFLAGS=.*/CONFIG_EXTRA_LDFLAGS=\"-Wl,-z,max-page-size=4096\"/" .config
	yes '' 2>/dev/null | make oldconfig >>build.log 2>&1 || fail "busybox: oldconfig failed, see $out/build.log"
	make -j"$jobs" CROSS_COMPILE="$cross" CC="$(compiler $libc)" \
		SKIP_STRIP=y busybox >>build.log 2>&1 || fail "busybox ($libc): the build failed, see $out/build.log"
	publish $libc busybox_unstripped busybox
done
stamped busybox
