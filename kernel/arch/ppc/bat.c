/* Block address translation (603e manual, 5.3), and the TLB as a whole. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <lib.h>
#include <procfs.h>
#include <text.h>

#include "internal.h"

void bat_set_code(u32 upper, u32 lower);         /* bat_set.S */

#define BAT_VS 2u               /* valid in supervisor mode */
#define BAT_BLOCK_MAX 0x10000000u
#define BAT_RW 2u

#define IO_SIZE     0x00020000u         /* ISA's 64 KB of ports, in the smallest block */
#define INTACK_VIRTUAL  0xfffff000u
#define INTACK_PHYSICAL 0xbffff000u
#define INTACK_BLOCK    0x00020000u     /* the smallest block that holds it */

#define SET_BAT(n, upper, lower)                                                          \
	__asm__ volatile("mtspr %0, %2; isync; mtspr %1, %3; mtspr %0, %4; isync" : :     \
			 "i"(n), "i"((n) + 1), "r"(0), "r"(lower), "r"(upper) : "memory")

static u32 bat_upper(vaddr_t virtual, u32 size)
{
	return virtual | (size / 0x20000 - 1) << 2 | BAT_VS;
}

/* The smallest block that covers what is left of RAM from `start`. */
static u32 block_size(u32 start, u32 bytes)
{
	u32 size = 0x20000;

	while (size < BAT_BLOCK_MAX && start + size < bytes)
		size *= 2;
	return size;
}

bool arch_maps_uncached(void)
{
	return backend->bats && boot.memory_size <= BAT_BLOCK_MAX;
}

void bat_map_ram(u32 bytes)
{
	u32 upper0 = 0, upper1 = 0, data1 = 0, data1_lower = BAT_BLOCK_MAX | BAT_RW;
	u32 msr = irq_save();

	if (bytes)
		upper0 = bat_upper(KERNEL_BASE, block_size(0, bytes));
	if (bytes > BAT_BLOCK_MAX)
		upper1 = bat_upper(KERNEL_BASE + BAT_BLOCK_MAX, block_size(BAT_BLOCK_MAX, bytes));
	data1 = upper1;
	if (arch_maps_uncached()) {
		data1 = bat_upper(KERNEL_UNCACHED, block_size(0, boot.memory_size));
		data1_lower = PTE_UNCACHED | BAT_RW;
	}
	SET_BAT(SPR_IBAT0U + 2, upper1, BAT_BLOCK_MAX | BAT_RW);
	SET_BAT(SPR_DBAT0U + 2, data1, data1_lower);
	bat_set_code(upper0, BAT_RW);
	irq_restore(msr);
}

void bat_map_io(bool on)
{
	u32 io = on ? bat_upper(IO_VIRTUAL, IO_SIZE) : 0;
	u32 intack = on ? bat_upper(ALIGN_DOWN(INTACK_VIRTUAL, INTACK_BLOCK), INTACK_BLOCK) : 0;

	SET_BAT(SPR_DBAT0U + 4, io, IO_PHYSICAL | PTE_UNCACHED | PTE_GUARDED | BAT_RW);
	SET_BAT(SPR_DBAT0U + 6, intack,
		ALIGN_DOWN(INTACK_PHYSICAL, INTACK_BLOCK) | PTE_UNCACHED | PTE_GUARDED | BAT_RW);
}

void *arch_io(u32 pa)
{
	if (pa >= IO_PHYSICAL && pa - IO_PHYSICAL < IO_SIZE)
		return (void *)(pa - IO_PHYSICAL + IO_VIRTUAL);
	if (pa >= INTACK_PHYSICAL && pa - INTACK_PHYSICAL < PAGE_SIZE)
		return (void *)(pa - INTACK_PHYSICAL + INTACK_VIRTUAL);
	return NULL;
}

void io_for_each_page(void (*function)(vaddr_t virtual, u32 pa))
{
	for (u32 offset = 0; offset < IO_SIZE; offset += PAGE_SIZE)
		function(IO_VIRTUAL + offset, IO_PHYSICAL + offset);
	function(INTACK_VIRTUAL, INTACK_PHYSICAL);
}

/* Block address translation, one line a register pair: upper, lower, what it maps. */
#define SHOW_BAT(text, name, n, spr)                                                            \
	do {                                                                                    \
		u32 upper_, lower_;                                                             \
		__asm__ volatile("mfspr %0, %1" : "=r"(upper_) : "i"(spr));                     \
		__asm__ volatile("mfspr %0, %1" : "=r"(lower_) : "i"((spr) + 1));               \
		text_printf(text, "%s%d %08x %08x", name, n, upper_, lower_);                   \
		if (upper_ & 3)                                                                 \
			text_printf(text, " %08x -> %08x, %u KB", upper_ & 0xfffe0000,          \
				    lower_ & 0xfffe0000, (((upper_ >> 2) & 0x7ff) + 1) * 128);  \
		text_puts(text, "\n");                                                          \
	} while (0)

static void show_bats(struct text *text)
{
	SHOW_BAT(text, "ibat", 0, SPR_IBAT0U);
	SHOW_BAT(text, "ibat", 1, SPR_IBAT0U + 2);
	SHOW_BAT(text, "ibat", 2, SPR_IBAT0U + 4);
	SHOW_BAT(text, "ibat", 3, SPR_IBAT0U + 6);
	SHOW_BAT(text, "dbat", 0, SPR_DBAT0U);
	SHOW_BAT(text, "dbat", 1, SPR_DBAT0U + 2);
	SHOW_BAT(text, "dbat", 2, SPR_DBAT0U + 4);
	SHOW_BAT(text, "dbat", 3, SPR_DBAT0U + 6);
}

void bat_proc_init(void)
{
	proc_file("mmu/bats", show_bats, NULL);
}

void tlb_invalidate_all(void)
{
	/* Every set of the largest TLB of these processors: 64 (604 manual, 5.4.3.2). */
	for (u32 ea = 0; ea < 64 * PAGE_SIZE; ea += PAGE_SIZE)
		__asm__ volatile("tlbie %0" : : "r"(ea));
	__asm__ volatile("sync" : : : "memory");
}
