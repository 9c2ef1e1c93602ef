# What the build of the kernel for x86 has of its own: one image each for one and for several, for every processor from the i486 on. The compiler is the
# host's. Its 32-bit libgcc is neither installed nor fit for an i486: library.c has what is needed of it.
# Functions take their first three words in eax, edx and ecx.
CROSS ?=
CC := $(CROSS)gcc
ABI := i386
MACHINE := -m32 -march=i486 -mgeneral-regs-only -mregparm=3 -mpreferred-stack-boundary=2 -fomit-frame-pointer -fcf-protection=none -fdata-sections
MACHINE_LINK := -m32 -no-pie -Wl,-m,elf_i386
LIBRARIES :=
EXTRA :=
