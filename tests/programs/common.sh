# What the build scripts of programs share; sourced, with `set -eu` in force.
#
# Everything lies below build/programs/: apt/<suite> (a private package list), sources/ (downloads), src/ (trees), and
# the results: bin/<libc>/<name>, static PPC32 executables for libc = glibc or musl, and bin/<name>, musl's.
# PROGRAMS_ARCH=x86 makes them for an i386, with musl, in build/programs-x86, by the host's compiler; PROGRAMS_ARCH=riscv for
# RV64GC, with glibc, in build/programs-riscv.

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
case ${PROGRAMS_ARCH:-ppc} in
ppc)
	programs=${PAGEWALK_PROGRAMS:-$root/build/programs}
	sources=$programs/sources
	cross=${CROSS:-powerpc-linux-gnu-}
	machine_flags="-mcpu=powerpc -mno-altivec -mhard-float"
	libcs="glibc musl"
	qemu_arch=ppc
	uname_machine=ppc
	;;
x86)
	programs=${PAGEWALK_PROGRAMS:-$root/build/programs}-x86
	sources=${PAGEWALK_PROGRAMS:-$root/build/programs}/sources
	cross=${CROSS:-}
	machine_flags="-m32 -march=i486 -fcf-protection=none -fno-stack-protector"
	libcs="musl"
	qemu_arch=i386
	uname_machine=i686
	;;
riscv)
	programs=${PAGEWALK_PROGRAMS:-$root/build/programs}-riscv
	sources=${PAGEWALK_PROGRAMS:-$root/build/programs}/sources
	cross=${CROSS:-riscv64-linux-gnu-}
	machine_flags="-march=rv64gc -mabi=lp64d"
	libcs="glibc"
	qemu_arch=riscv64
	uname_machine=riscv64
	;;
*)
	echo "PROGRAMS_ARCH=$PROGRAMS_ARCH: allowed are ppc, x86, riscv" >&2
	exit 2
	;;
esac
link_flags="-static -Wl,-z,max-page-size=4096 -Wl,--build-id=none"
jobs=${JOBS:-$(nproc)}

# One at a time: a second script waits until the first has ended.
mkdir -p "$programs"
exec 9>"$programs/lock"
flock 9

# A make that started this script hands its flags on (no built-in rules, say); the programs' own makefiles need the usual.
unset MAKEFLAGS MFLAGS GNUMAKEFLAGS MAKELEVEL

fail() {
	echo "$(basename "$0"): $*" >&2
	exit 1
}

need() {
	for tool; do
		command -v "$tool" >/dev/null 2>&1 || fail "needs the program '$tool' (Debian package: ${tool_package:-$tool})"
	done
}

# compiler <libc>: the compiler driver that links with this C library.
compiler() {
	case $1 in
	glibc) echo "${cross}gcc" ;;
	musl)
		[ -x "$programs/musl-sysroot/bin/musl-gcc" ] || fail "build musl first: tests/programs/musl.sh"
		echo "$programs/musl-sysroot/bin/musl-gcc"
		;;
	*) fail "C library '$1'; allowed: glibc, musl" ;;
	esac
}

# stamp <name> <word>...: what a result is built from, beside the words: the script, this file, the source packages that
# the script fetches, the compiler.
stamp() {
	name=$1
	shift
	{
		cat "$0" "$here/common.sh"
		for package in $(sed -n 's/.*(fetch \([^)]*\)).*/\1/p' "$0"); do
			grep "^$package " "$here/sources.txt" || fail "$package is not in sources.txt"
		done
		"${cross}gcc" -dumpfullversion
		echo "$@"
	} | sha256sum | cut -d' ' -f1 >"$programs/$name.wanted"
	cmp -s "$programs/$name.wanted" "$programs/$name.stamp"
}

stamped() {
	mv "$programs/$1.wanted" "$programs/$1.stamp"
}

# private_apt <suite>: a private list of this Debian suite's source packages, from the system's own Debian mirror, without
# touching /etc/apt. PAGEWALK_DEBIAN_MIRROR names another mirror.
private_apt() {
	suite=$1
	apt=$programs/apt/$suite
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	mirror=${PAGEWALK_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' \
		'Origin: Debian' 'Component: main' 2>/dev/null | grep -v security | sort -u | head -n 1)}
	[ -n "$mirror" ] || fail "no Debian mirror in the system's package sources; set PAGEWALK_DEBIAN_MIRROR to one's URL"
	[ -r "$keyring" ] || fail "needs $keyring (Debian package: debian-archive-keyring)"
	mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
	echo "deb-src [signed-by=$keyring] $mirror $suite main" >"$apt/sources.list"
	set -- -o "Dir::Etc::sourcelist=$apt/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$apt/lists" \
		-o "Dir::Cache=$apt/cache" -o APT::Sandbox::User= -o Acquire::Retries=3 -qq
	apt_options=$*
	[ -n "$(ls "$apt/lists" | grep Sources || true)" ] || apt-get $apt_options update ||
		fail "cannot read the list of source packages from $mirror"
}

# fetch <source package>: downloads its upstream archive once, checks it, and unpacks it afresh into
# build/programs/src/<package>; prints that directory.
fetch() {
	package=$1
	line=$(grep "^$package " "$here/sources.txt") || fail "$package is not in sources.txt"
	file=$(echo "$line" | cut -d' ' -f2)
	sum=$(echo "$line" | cut -d' ' -f3)
	suite=$(echo "$line" | cut -d' ' -f4)
	mkdir -p "$sources"
	if ! echo "$sum  $sources/$file" | sha256sum --check --status 2>/dev/null; then
		need apt-get
		private_apt "${suite:-bookworm}"
		(cd "$sources" && apt-get $apt_options --download-only source "$package" >&2) ||
			fail "cannot download the source package $package of $suite"
		[ -f "$sources/$file" ] ||
			fail "the source package $package no longer holds $file (a newer release?); see sources.txt"
		echo "$sum  $sources/$file" | sha256sum --check --status ||
			fail "$file is not the file that sources.txt names (SHA-256 differs)"
	fi
	rm -rf "${programs:?}/src/$package"
	mkdir -p "$programs/src/$package"
	# An archive has one directory at its top, or else its files lie there bare.
	tar -xf "$sources/$file" -C "$programs/src/$package" >&2
	set -- "$programs/src/$package"/*
	if [ $# -eq 1 ] && [ -d "$1" ]; then
		mv "$1" "$programs/src/$package.top"
		rm -r "$programs/src/$package"
		mv "$programs/src/$package.top" "$programs/src/$package"
	fi
	echo "$programs/src/$package"
}

# publish <libc> <executable> <name>: puts a stripped copy of an executable where the tests and the lab look for it.
publish() {
	"${cross}strip" -o "$programs/bin/$1/$3" "$2"
	ln -sf "musl/$3" "$programs/bin/$3"
}
