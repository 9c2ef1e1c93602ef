/* Block address translation (603e manual, 5.3), and the TLB as a whole. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <lib.h>
#include <procfs.h>
#include <smp.h>
#include <text.h>

#include "internal.h"

#define BAT_VS 2u               /* valid in supervisor mode */
#define BAT_BLOCK_MAX 0x10000000u
#define BAT_RW 2u

/* M is set where other processors' caches must see accesses. */
static u32 bat_wimg(void) { return SEVERAL ? PTE_COHERENT : 0; }

#define BLOCK_MIN 0x00020000u
#define OPENPIC_MOST    0x00080000u

/* the smallest block that contains it */
static struct io_range {
	vaddr_t virtual;
	u32 physical, size;
} io_ranges[2] = {
	{ IO_VIRTUAL, IO_PHYSICAL, 0x20000 },   /* ISA's ports */
	{ 0xfffff000, 0xbffff000, PAGE_SIZE },  /* interrupt acknowledge, or an OpenPIC in its place */
};

#define SET_BAT(n, upper, lower)                                                          \
	__asm__ volatile("mtspr %0, %2; isync; mtspr %1, %3; mtspr %0, %4; isync" : :     \
			 "i"(n), "i"((n) + 1), "r"(0), "r"(lower), "r"(upper) : "memory")

static u32 bat_upper(vaddr_t virtual, u32 size)
{
	return virtual | (size / 0x20000 - 1) << 2 | BAT_VS;
}

/* The smallest block that covers RAM from `start` on, or the largest there is. */
static u32 block_size(paddr_t start, u32 bytes)
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
	u32 upper0 = 0, upper1 = 0, data1 = 0, data1_lower = BAT_BLOCK_MAX | BAT_RW | bat_wimg();
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
	SET_BAT(SPR_IBAT0U + 2, upper1, BAT_BLOCK_MAX | BAT_RW | bat_wimg());
	SET_BAT(SPR_DBAT0U + 2, data1, data1_lower);
	bat_set_code(upper0, BAT_RW | bat_wimg());
	irq_restore(msr);
}

static bool io_mapped = true, openpic_kept;

void bat_map_io(bool on)
{
	u32 upper[2], lower[2];

	io_mapped = on;

	for (unsigned i = 0; i < 2; i++) {
		const struct io_range *range = &io_ranges[i];
		u32 block = MAX(range->size, BLOCK_MIN);

		upper[i] = on || (i == 1 && openpic_kept) ? bat_upper(ALIGN_DOWN(range->virtual, block), block) : 0;
		lower[i] = ALIGN_DOWN(range->physical, block) | PTE_UNCACHED | PTE_GUARDED | BAT_RW;
	}
	SET_BAT(SPR_DBAT0U + 4, upper[0], lower[0]);
	SET_BAT(SPR_DBAT0U + 6, upper[1], lower[1]);
}

void bat_keep_openpic(bool keep)
{
	openpic_kept = keep;
	bat_map_io(io_mapped);
}

bool io_add_openpic(paddr_t pa, u32 size)
{
	if (size < BLOCK_MIN || size > OPENPIC_MOST || (size & (size - 1)) || (pa & (size - 1)))
		return false;
	io_ranges[1] = (struct io_range){ OPENPIC_VIRTUAL, pa, size };
	return true;
}

void *arch_io(paddr_t pa)
{
	for (unsigned i = 0; i < 2; i++)
		if (pa - io_ranges[i].physical < io_ranges[i].size)
			return (void *)(pa - io_ranges[i].physical + io_ranges[i].virtual);
	return NULL;
}

void io_for_each_page(void (*function)(vaddr_t virtual, paddr_t pa))
{
	for (unsigned i = 0; i < 2; i++)
		for (u32 offset = 0; offset < io_ranges[i].size; offset += PAGE_SIZE)
			function(io_ranges[i].virtual + offset, io_ranges[i].physical + offset);
}

#define SAVE_BAT(saved, spr)                                                    \
	__asm__ volatile("mfspr %0, %2; mfspr %1, %3" : "=r"((saved).upper), "=r"((saved).lower) : \
			 "i"(spr), "i"((spr) + 1))
#define LOAD_BAT(saved, spr) SET_BAT(spr, (saved).upper, (saved).lower)

static struct bat { u32 upper, lower; } saved_bats[7];

void bats_save(void)
{
	SAVE_BAT(saved_bats[0], SPR_IBAT0U);
	SAVE_BAT(saved_bats[1], SPR_IBAT0U + 2);
	SAVE_BAT(saved_bats[2], SPR_IBAT0U + 4);
	SAVE_BAT(saved_bats[3], SPR_IBAT0U + 6);
	SAVE_BAT(saved_bats[4], SPR_DBAT0U + 2);
	SAVE_BAT(saved_bats[5], SPR_DBAT0U + 4);
	SAVE_BAT(saved_bats[6], SPR_DBAT0U + 6);
}

void bats_load(void)
{
	LOAD_BAT(saved_bats[1], SPR_IBAT0U + 2);
	LOAD_BAT(saved_bats[2], SPR_IBAT0U + 4);
	LOAD_BAT(saved_bats[3], SPR_IBAT0U + 6);
	LOAD_BAT(saved_bats[4], SPR_DBAT0U + 2);
	LOAD_BAT(saved_bats[5], SPR_DBAT0U + 4);
	LOAD_BAT(saved_bats[6], SPR_DBAT0U + 6);
	bat_set_code(saved_bats[0].upper, saved_bats[0].lower);
}

/* The block address translation registers, one line a pair: upper, lower, range. */
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

REPLACED CAUSE(flush) void tlb_invalidate_all(void)
{
	for (vaddr_t ea = 0; ea < ARCH_TLB_REACH; ea += PAGE_SIZE)
		__asm__ volatile("tlbie %0" : : "r"(ea));
	__asm__ volatile("sync" : : : "memory");
}
