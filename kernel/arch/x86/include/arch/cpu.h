/* Interrupts on and off, accesses to I/O space, and the size of a TLB. */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H
#include <arch/segment.h>
#include <types.h>

/*
 * The most sets of a TLB of these processors, that for data of a Pentium or P6 (Intel manual, volume 3A, table 11-1).
 */
#define ARCH_TLB_SETS 16u

/* Whether a word may be loaded from any address. */
#define ARCH_READS_UNALIGNED 1

/* The vector of input 0 of the 8259 pair: a multiple of 16. */
#define ARCH_IRQ_VECTOR 0x20u

static inline u32 irq_save(void)
{
	u32 flags;

	__asm__ volatile("pushfl; popl %0; cli" : "=r"(flags) : : "memory");
	return flags;
}
static inline void irq_restore(u32 flags)
{
	__asm__ volatile("pushl %0; popfl" : : "r"(flags) : "memory", "cc");
}
/* An interrupt is taken after the instruction that follows sti, at the earliest. */
static inline void irq_enable(void) { __asm__ volatile("sti; nop" : : : "memory"); }
static inline void irq_disable(void) { __asm__ volatile("cli" : : : "memory"); }

/*
 * The low word of the timebase, which wraps after some time. Without a counter of cycles it stays as at the last tick.
 */
extern u32 (*arch_timebase_low)(void);

/* Ports are addresses below 64 K; registers in memory are mapped far above. */
#define PORTS 0x10000u

static inline u8 port_read8(u16 port)
{
	u8 value;

	__asm__ volatile("inb %1, %0" : "=a"(value) : "Nd"(port) : "memory");
	return value;
}
static inline void port_write8(u16 port, u8 value)
{
	__asm__ volatile("outb %0, %1" : : "a"(value), "Nd"(port) : "memory");
}
static inline u8 io_read8(const void *address)
{
	return (u32)address < PORTS ? port_read8((u16)(u32)address) : *(const volatile u8 *)address;
}
static inline void io_write8(void *address, u8 value)
{
	if ((u32)address < PORTS)
		port_write8((u16)(u32)address, value);
	else
		*(volatile u8 *)address = value;
}
static inline u32 io_read32(const void *address) { return *(const volatile u32 *)address; }
static inline void io_write32(void *address, u32 value) { *(volatile u32 *)address = value; }
static inline u32 io_read32_le(const void *address) { return *(const volatile u32 *)address; }
static inline void io_write32_le(void *address, u32 value) { *(volatile u32 *)address = value; }

/* What was stored before is seen before what is read after. A locked instruction waits for the stores. */
static inline void arch_memory_barrier(void)
{
	__asm__ volatile("lock; addl $0, (%%esp)" : : : "memory", "cc");
}

/* Adds to a word that other processors change too; returns its old value. */
static inline u32 arch_add(u32 *at, u32 n)
{
	__asm__ volatile("lock; xaddl %0, %1" : "+r"(n), "+m"(*at) : : "memory", "cc");
	return n;
}
/* Stores `after` if the word is `before`. */
static inline bool arch_exchange_if(u32 *at, u32 before, u32 after)
{
	u32 old = before;

	__asm__ volatile("lock; cmpxchgl %2, %1" : "+a"(old), "+m"(*at) : "r"(after) : "memory", "cc");
	return old == before;
}
/* Between two looks at a word that another processor will change. */
static inline void arch_pause(void)
{
	__asm__ volatile("rep; nop" : : : "memory");
}
/*
 * Around what may not be interrupted for less than a level, although interrupts are off: see policy interrupt.level.
 * Raising returns the level from before, to be set again.
 */
#define ARCH_LEVEL_MEMORY 0xb0u /* interrupts of devices wait */
#define ARCH_LEVEL_IPI    0xe0u /* and those between processors, but flush requests of the short form */
extern u32 (*arch_level_raise)(u32 level);
extern void (*arch_level_set)(u32 level);
/* After a lock was taken: loads are not moved before a locked instruction. */
static inline void arch_acquired(void)
{
	__asm__ volatile("" : : : "memory");
}

/* No instruction prefetches a line for reading. */
static inline void arch_touch(const void *at) { (void)at; }

/* Clears [start, end), whole cache lines. No instruction makes a line without reading it. */
static inline void arch_lines_clear(vaddr_t start, vaddr_t end, u32 line)
{
	u32 words = (end - start) / 4;

	(void)line;
	__asm__ volatile("rep; stosl" : "+D"(start), "+c"(words) : "a"(0) : "memory");
}

#endif
