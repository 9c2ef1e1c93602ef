#!/usr/bin/env bash
# Boots the kernel on QEMU's PC with what it must refuse, on several processors: messages and exit statuses.
#   arch/x86/boot/test.sh <build directory>
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
kernel=${1:?build directory}/vmlinux
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# case_of <name> <processor> <status> <text that the console must show> [argument of qemu-pc ...]
case_of() {
	local name=$1 processor=$2 want=$3 text=$4 status=0
	shift 4
	"$here/qemu-pc" -c "$processor" -k "$kernel" -t 60 "$@" > "$work/console" 2>&1 || status=$?
	if [ "$status" -eq "$want" ] && grep -qF -- "$text" "$work/console"; then
		echo "boot $processor $name: passed"
	else
		echo "boot $processor $name: FAILED: status $status, wanted $want and \"$text\""
		cat "$work/console"
		failed=1
	fi
}

printf 'not a cpio archive, but long enough to be looked at: %0200d' 0 > "$work/corrupt"
for processor in 486 pentium pentium2; do
	case_of no_initramfs $processor 65 "initramfs: there is none"
	case_of corrupt_initramfs $processor 65 "initramfs" -i "$work/corrupt"
	case_of unknown_word $processor 64 "no such word" frobnicate=1
	case_of bad_choice $processor 64 "choices are search lazy" tlb.flush=never
	case_of bad_number $processor 64 "a number" failalloc=many
	case_of little_memory $processor 66 "too few" -m 2
done
case_of other_image pentium2 67 "boot vmlinux" -k "$kernel-smp"
case_of other_image pentium2 65 "vmlinux-smp uses all" -n 4
case_of several_processors pentium2 65 "pagewalk: 4 processors" -n 4 -k "$kernel-smp" check=on
case_of short_shootdowns pentium2 65 "pagewalk: 4 processors" -n 4 -k "$kernel-smp" shootdown=short check=on
case_of large_pages pentium2 65 "pagewalk: 4 processors" -n 4 -k "$kernel-smp" kernel.map=large+global kernel.lock=fine
exit $failed
