#!/bin/sh
# Builds the programs that the tests run: build.sh [program ...], all of them by default. Does nothing for what is up
# to date.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- qemu musl busybox lua lua-tests tcc sqlite
for program; do
	case $program in
	build | common) program=none ;;
	esac
	if [ ! -f "$here/$program.sh" ]; then
		echo "build.sh: no program '$program'; allowed: qemu musl busybox lua lua-tests tcc sqlite" >&2
		exit 2
	fi
	"$here/$program.sh"
done
