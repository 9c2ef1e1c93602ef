/* What the rest of the kernel asks of the processor. */
#ifndef ARCH_H
#define ARCH_H

#include <arch/cpu.h>
#include <arch/layout.h>
#include <arch/regs.h>
#include <arch/task.h>
#include <frame.h>
#include <types.h>

/* While on, system calls come to exception_syscall_traced(). */
void arch_trace_syscalls(bool on);

/* Called with interrupts off: waits with interrupts on until one came, or for a moment. */
void arch_idle(void);

u64 arch_timebase(void);                /* ticks of the timebase */
u32 arch_timebase_hz(void);
void arch_decrementer_set(u32 ticks);   /* interrupt when ticks have passed; at most 0x7fffffff */

/* I/O space: a virtual address for a physical one of the board; NULL outside of it. */
void *arch_io(paddr_t pa);
/* Every page of I/O space: its virtual address, as arch_io gives it, and the physical one. */
void io_for_each_page(void (*function)(vaddr_t virtual, paddr_t pa));

/* Facts for the auxiliary vector, /proc/cpuinfo and uname. */
struct arch_cpu {
	const char *name;               /* "603e", "604", ... */
	u32 pvr;
	u32 hwcap;                      /* AT_HWCAP */
	u32 clock_hz, timebase_hz, bus_hz;
	u32 dcache_line, icache_line;   /* bytes */
	u32 dcache_size, icache_size;
};
extern struct arch_cpu arch_cpu;
#define ARCH_HWCAP_FPU 0x08000000u      /* there is a floating-point unit (Linux: PPC_FEATURE_HAS_FPU) */

/* All RAM can be reached at KERNEL_UNCACHED, past the cache. */
bool arch_maps_uncached(void);

/* Instructions in [address, address + size) were written through the kernel's mapping. */
void arch_icache_sync(void *address, size_t size);
/* What the data cache holds of [address, address + size) is written back and leaves it. */
void arch_dcache_flush(void *address, size_t size);

/* On the console: the registers, and the addresses that the code of an exception (NULL: the caller) returns to. */
void arch_show_regs(const struct regs *regs);
void arch_show_stack(const struct regs *regs);

/* The files of /proc about its MMU. */
void arch_proc_init(void);

/*
 * The architecture's part of the boot, in the order of main.c: exceptions, a console to write to, and which processor
 * and MMU this is; the kernel's mappings that need no page tables; translation by the tree, in the plain form;
 * interrupts of devices; the console's.
 */
void arch_init_early(const void *fdt);
void arch_map_memory(void);
void arch_init_translation(void);
void arch_init_interrupts(void);
void arch_init_console(void);
/* main.c: the boot, called by the architecture's start code on the idle task's stack. Does not return. */
void kernel_main(const void *fdt) __attribute__((noreturn));

/* What the device tree and the command line said. */
struct boot {
	u32 memory_size;                /* bytes of RAM from physical 0 */
	paddr_t initrd_start, initrd_end;   /* physical; equal: none */
	const char *command_line;
	const char *init;               /* init=, default "/init" */
	const char *const *init_arguments;      /* the words after --, ends with NULL */
	bool quiet, check;
	u32 failalloc;                  /* the allocation that fails; 0: none */
};
extern struct boot boot;

#endif
