# What the build of the user programs for an i386 has of its own. They run on an i486, with musl (tests/programs/musl.sh).
CROSS ?=
CC := ../build/programs-x86/musl-sysroot/bin/musl-gcc
ABI := i386
MACHINE := -fcf-protection=none
