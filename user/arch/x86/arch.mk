# What the build of the user programs for an i386 has of its own. They run on an i486.
CROSS ?=
CC := ../build/programs-x86/musl-sysroot/bin/musl-gcc
BARE_CC := $(CROSS)gcc
ABI := i386
MACHINE := -m32 -march=i486 -fcf-protection=none -fno-stack-protector -isystem /usr/include/$(shell $(BARE_CC) -print-multiarch)
MACHINE_LINK := -m32
