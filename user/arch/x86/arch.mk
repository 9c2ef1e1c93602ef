# What the build of the user programs for an i386 has of its own. They run on an i486, with musl (tests/programs/musl.sh).
CROSS ?=
CC := ../build/programs-x86/musl-sysroot/bin/musl-gcc
ABI := i386
# The C library's folder, as its compiler driver names it, is not in the programs: they are the same in every checkout.
MUSL := $(shell sed -n 's|^-L\(.*\)/lib$$|\1|p' ../build/programs-x86/musl-sysroot/lib/musl-gcc.specs 2> /dev/null)
MACHINE := -fcf-protection=none $(MUSL:%=-ffile-prefix-map=%=musl)
# What programs with musl need to be built as those with glibc are.
HOSTED := -include arch/x86/glibc.h
SUPPORT := arch/x86/glibc
# They test a PowerPC's registers and policies.
LEFT_OUT := copy core fetch fpu mapping policy trace wide
