# What the build of the user programs for PowerPC has of its own.
CROSS ?= powerpc-linux-gnu-
CC := $(CROSS)gcc
ABI := ppc32
MACHINE := -mcpu=powerpc -mno-altivec -mhard-float
# What needs shared libraries, or the C library of libc/.
DYNAMIC = $(BUILD)/hello-dynamic $(BUILD)/dynamic old
