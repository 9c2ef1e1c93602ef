/* Interrupts on and off, accesses to I/O space, cache lines, and the size of a TLB. */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H
#include <types.h>

#define ARCH_TLB_SETS 1u

/* Whether a word may be loaded from any address. */
#define ARCH_READS_UNALIGNED 0

/* The vector of input 0 of the 8259 pair: a multiple of 16. */
#define ARCH_IRQ_VECTOR 0u

u32 irq_save(void);
void irq_restore(u32 state);
void irq_enable(void);
void irq_disable(void);
u32 arch_timebase_low(void);
u32 arch_add(u32 *at, u32 n);
bool arch_exchange_if(u32 *at, u32 before, u32 after);
void arch_acquired(void);
void arch_pause(void);
#define ARCH_LEVEL_MEMORY 0u
#define ARCH_LEVEL_IPI    0u
u32 arch_level_raise(u32 level);
void arch_level_set(u32 level);

u8 io_read8(const void *address);
void io_write8(void *address, u8 value);
u32 io_read32(const void *address);
void io_write32(void *address, u32 value);
u32 io_read32_le(const void *address);
void io_write32_le(void *address, u32 value);
void arch_memory_barrier(void);

void arch_touch(const void *at);
void arch_lines_clear(vaddr_t start, vaddr_t end, u32 line);

#endif
