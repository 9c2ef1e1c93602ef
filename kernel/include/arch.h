/* What the rest of the kernel asks of the processor. */
#ifndef ARCH_H
#define ARCH_H

#include <arch/reg.h>
#include <arch/task.h>
#include <frame.h>
#include <types.h>

/*
 * A program's or the interrupted kernel's registers, in the layout of Linux's
 * struct pt_regs for 32-bit PowerPC, so that signal frames hold it as it is.
 */
struct regs {
	u32 gpr[32];
	u32 nip;                /* where it continues (SRR0) */
	u32 msr;                /* with what (SRR1) */
	u32 orig_gpr3;          /* system calls: r3 as it was passed */
	u32 ctr, link, xer, ccr;
	u32 mq;                 /* 601 only; 0 */
	u32 trap;               /* vector, 0xc00 for a system call */
	u32 dar, dsisr;         /* of a fault */
	u32 result;             /* free for the system-call layer */
};

#define TRAP_SYSCALL 0xc00u

static inline bool regs_user(const struct regs *regs) { return (regs->msr & MSR_PR) != 0; }

/*
 * User space is [PAGE_SIZE, USER_END); the kernel starts at KERNEL_BASE.
 * Segments 0 to 11 belong to the program, 12 to 15 to the kernel.
 */
#define USER_END   0xc0000000u
#define USER_STACK_TOP 0xbfff0000u

static inline u32 mfmsr(void)
{
	u32 msr;
	__asm__ volatile("mfmsr %0" : "=r"(msr));
	return msr;
}
static inline void mtmsr(u32 msr)
{
	__asm__ volatile("mtmsr %0; isync" : : "r"(msr) : "memory");
}
static inline u32 irq_save(void)
{
	u32 msr = mfmsr();
	mtmsr(msr & ~MSR_EE);
	return msr;
}
static inline void irq_restore(u32 msr) { mtmsr(msr); }
static inline void irq_enable(void) { mtmsr(mfmsr() | MSR_EE); }
static inline void irq_disable(void) { mtmsr(mfmsr() & ~MSR_EE); }

/* While on, system calls come to exception_syscall_traced(). */
void arch_trace_syscalls(bool on);

/* Called with interrupts off: waits with interrupts on until one came, or for a moment. */
void arch_idle(void);

u64 arch_timebase(void);                /* ticks of the timebase */
u32 arch_timebase_hz(void);
void arch_decrementer_set(u32 ticks);   /* interrupt when ticks have passed; at most 0x7fffffff */

/* I/O space: a virtual address for a physical one of the board; NULL outside of it. */
void *arch_io(u32 pa);

static inline u8 io_read8(const void *address)
{
	u8 value = *(const volatile u8 *)address;
	__asm__ volatile("eieio" : : : "memory");
	return value;
}
static inline void io_write8(void *address, u8 value)
{
	*(volatile u8 *)address = value;
	__asm__ volatile("eieio" : : : "memory");
}

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

/* Instructions in [address, address + size) were written through the kernel's mapping. */
void arch_icache_sync(void *address, size_t size);
/* What the data cache holds of [address, address + size) is written back and leaves it. */
void arch_dcache_flush(void *address, size_t size);

/* What the device tree and the command line said. */
struct boot {
	u32 memory_size;                /* bytes of RAM from physical 0 */
	u32 initrd_start, initrd_end;   /* physical; equal: none */
	const char *command_line;
	const char *init;               /* init=, default "/init" */
	const char *const *init_arguments;      /* the words after --, ends with NULL */
	bool quiet, check;
	u32 failalloc;                  /* the allocation that fails; 0: none */
};
extern struct boot boot;

#endif
