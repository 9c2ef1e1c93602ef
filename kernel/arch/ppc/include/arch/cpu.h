/* Interrupts on and off, accesses to I/O space, cache lines, and the size of a TLB. */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H
#include <arch/reg.h>
#include <types.h>

/* The most sets of a TLB of these processors, the 604's (604 manual, 5.4.3.2). tlbie empties the set of an address. */
#define ARCH_TLB_SETS 64u

/* Whether a word may be loaded from any address. */
#define ARCH_READS_UNALIGNED 0

/* The vector of input 0 of the 8259 pair: a multiple of 16. */
#define ARCH_IRQ_VECTOR 0u

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

/* The low word of the timebase, which wraps after minutes. */
static inline u32 arch_timebase_low(void)
{
	u32 low;
	__asm__ volatile("mftb %0" : "=r"(low));
	return low;
}

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
static inline u32 io_read32(const void *address) { return *(const volatile u32 *)address; }
static inline void io_write32(void *address, u32 value)
{
	*(volatile u32 *)address = value;
	__asm__ volatile("eieio" : : : "memory");
}

/* A little-endian register, as devices on the PCI bus have them. */
static inline u32 io_read32_le(const void *address)
{
	u32 value;
	__asm__ volatile("lwbrx %0, 0, %1; eieio" : "=r"(value) : "r"(address) : "memory");
	return value;
}
static inline void io_write32_le(void *address, u32 value)
{
	__asm__ volatile("stwbrx %0, 0, %1; eieio" : : "r"(value), "r"(address) : "memory");
}

/* What was stored before is seen before what is stored after, a device's registers included. */
static inline void arch_memory_barrier(void)
{
	__asm__ volatile("sync" : : : "memory");
}

/* Adds to a word that other processors change too; returns its old value. */
static inline u32 arch_add(u32 *at, u32 n)
{
	u32 old, sum;

	__asm__ volatile("1: lwarx %0, 0, %2; add %1, %0, %3; stwcx. %1, 0, %2; bne- 1b"
			 : "=&r"(old), "=&r"(sum) : "r"(at), "r"(n) : "cr0", "memory");
	return old;
}
/* Stores `after` if the word is `before`. */
static inline bool arch_exchange_if(u32 *at, u32 before, u32 after)
{
	u32 old;

	__asm__ volatile("1: lwarx %0, 0, %1; cmpw %0, %2; bne- 2f; stwcx. %3, 0, %1; bne- 1b; 2:"
			 : "=&r"(old) : "r"(at), "r"(before), "r"(after) : "cr0", "memory");
	return old == before;
}
/* Between two looks at a word that another processor will change. */
static inline void arch_pause(void)
{
	__asm__ volatile("" : : : "memory");
}
/* A PowerPC switches interrupts off where an x86 may raise a level instead: it has no levels. */
#define ARCH_LEVEL_MEMORY 0u
#define ARCH_LEVEL_IPI    0u
static inline u32 arch_level_raise(u32 level) { return level; }
static inline void arch_level_set(u32 level) { (void)level; }
/* Called after a lock is taken: what the lock protects is read afterwards. */
static inline void arch_acquired(void)
{
	__asm__ volatile("isync" : : : "memory");
}

/* Prefetches the cache line for reading. Unlike __builtin_prefetch(), it stays where it is among the calls. */
static inline void arch_touch(const void *at)
{
	__asm__ volatile("dcbt 0, %0" : : "r"(at));
}

/* Clears [start, end), whole cache lines of `line` bytes, without reading them from memory. */
static inline void arch_lines_clear(vaddr_t start, vaddr_t end, u32 line)
{
	for (; start < end; start += line)
		__asm__ volatile("dcbz 0, %0" : : "r"(start) : "memory");
}

#endif
