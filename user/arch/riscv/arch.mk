# What the build of the user programs for RISC-V has of its own. They run on Linux, with glibc.
CROSS ?= riscv64-linux-gnu-
CC := $(CROSS)gcc
ABI := rv64
MACHINE := -march=rv64gc -mabi=lp64d
# Our kernel does not run there, nor do its tests.
FOR_LINUX := yes
# It measures calls of our kernel.
BENCH_LEFT_OUT := ipc
