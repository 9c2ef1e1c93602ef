/*
 * The backend of the PPC405: software reloads a TLB of 64 entries directly from the tree; an address space has a number
 * of eight bits, the PID.
 */
#include <arch.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reg405.h>
#include <arch/reload.h>
#include <arch/soft405.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <procfs.h>

#include "../internal.h"
#include "soft405.h"
#include "tlb.h"

#define ALIAS 0xe0000000u       /* for icbi only; nothing else is mapped here */

DECLARE_IMAGE(image_machine_check405);
DECLARE_IMAGE(image_debug405);
DECLARE_IMAGE(image_data405);
DECLARE_IMAGE(image_instruction405);
DECLARE_IMAGE(image_alignment405);
DECLARE_IMAGE(image_program405);
DECLARE_IMAGE(image_pit);

/* The entry that the last reload replaced; the next one replaces that below. */
u32 soft405_next = TLB_ENTRIES_405, soft405_limit = TLB_ENTRIES_405;
/* Entries of 16 MB map the kernel's RAM up to here; 0: none do. */
u32 soft405_large_end;

u32 soft405_low(u32 pte)
{
	return (pte & PTE_RPN) | (pte & PTE_WIMG) >> 3 | (pte & PTE_CHANGED ? TLBLO_WRITE : 0) |
	       (pte & PTE_PP ? TLBLO_ZONE_USER : 0) | (!fetch_withheld || pte & PTE_FETCH ? TLBLO_EXECUTE : 0);
}

static u32 next_entry(void)
{
	soft405_next = (soft405_next ? soft405_next : soft405_limit) - 1;
	return soft405_next;
}

/* The plain form of a reload, for a page of a program. */
CAUSE(reload) void exception_soft405_miss(struct regs *regs)
{
	const struct root_entry *root = this_cpu()->mm ? this_cpu()->mm->root : kernel_root;
	bool fetch = regs->trap == 0x1200;
	u32 pte = pagetable_read(root, regs->dar);

	if (!(pte & PTE_VALID)) {
		if (fetch)
			exception_instruction_fault(regs);
		else
			exception_data_fault(regs);
		return;
	}
	reloads_c++;
	tlb405_write(next_entry(), (regs->dar & PAGE_MASK) | TLBHI_4K | TLBHI_VALID, soft405_low(pte));
}

/* The PIT stops at 0. */
static void pit_set(u32 ticks)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_PIT), "r"(MAX(ticks, 1u)));
}

/*
 * A set of the instruction cache is chosen by address bits above those within a page, so that the lines of a page may
 * be at several places, by the addresses it was fetched from (PPC405GP manual, 4.2.2). icbi invalidates at one place
 * only. An address of each kind is mapped for a moment.
 */
CAUSE(coherence) static void invalidate_aliases(vaddr_t start, vaddr_t end)
{
	u32 colours = arch_cpu.icache_size / (2 * PAGE_SIZE);   /* two ways */
	u32 own = start >> PAGE_SHIFT, low = soft405_low(kva_pa((void *)(start & PAGE_MASK)));
	u32 offset = start & ~PAGE_MASK;

	for (u32 colour = 1; colour < colours; colour++) {
		vaddr_t alias = ALIAS + (((own ^ colour) & (colours - 1)) << PAGE_SHIFT);
		u32 entry = next_entry();

		tlb405_write(entry, alias | TLBHI_4K | TLBHI_VALID, low);
		for (vaddr_t a = alias + offset; a < alias + offset + (end - start); a += arch_cpu.icache_line)
			__asm__ volatile("icbi 0, %0" : : "r"(a) : "memory");
		tlb405_write(entry, 0, 0);
	}
}

CAUSE(coherence) static void icache_sync405(void *address, size_t size)
{
	vaddr_t start = ALIGN_DOWN((vaddr_t)address, arch_cpu.icache_line), end = (vaddr_t)address + size, stop;

	for (vaddr_t a = start; a < end; a += arch_cpu.icache_line)
		__asm__ volatile("dcbst 0, %0" : : "r"(a) : "memory");
	__asm__ volatile("sync" : : : "memory");
	for (vaddr_t a = start; a < end; a += arch_cpu.icache_line)
		__asm__ volatile("icbi 0, %0" : : "r"(a) : "memory");
	for (; start < end; start = stop) {
		stop = MIN((start & PAGE_MASK) + PAGE_SIZE, end);
		invalidate_aliases(start, stop);
	}
	__asm__ volatile("sync; isync" : : : "memory");
}

static u32 usprg_get(void)
{
	u32 value;

	__asm__ volatile("mfspr %0, %1" : "=r"(value) : "i"(SPR_USPRG0));
	return value;
}

static void usprg_set(u32 value)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_USPRG0), "r"(value));
}

static void soft405_init(void)
{
	context_limit = MIN(context_limit, (u32)PIDS_405);
	image_install(0x200, &image_machine_check405);
	image_install(0x300, &image_data405);
	image_install(0x400, &image_instruction405);
	image_install(0x600, &image_alignment405);
	image_install(0x700, &image_program405);
	image_install(0x1000, &image_pit);
	image_install(0x2000, &image_debug405);
	arch_replace((const void *)exception_external, (const void *)exception_external405);
	arch_replace((const void *)arch_timer_set, (const void *)pit_set);
	arch_replace((const void *)arch_icache_sync, (const void *)icache_sync405);
	arch_replace((const void *)switch_to, switch_to405);
	arch_replace((const void *)switch_away, switch_away405);
	arch_replace((const void *)own_register, (const void *)usprg_get);
	arch_replace((const void *)own_register_set, (const void *)usprg_set);
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_DBCR0), "r"(DBCR0_INTERNAL | DBCR0_COMPLETE));
	__asm__ volatile("mtspr %0, %2; mtspr %1, %3" : : "i"(SPR_TSR), "i"(SPR_TCR), "r"(~0u),
			 "r"(TCR_PIT_INTERRUPT));
}

/* A page of the kernel is found under any number. */
CAUSE(flush) static void soft405_page_flush(struct mm *mm, vaddr_t address)
{
	u32 pid = tlb405_pid(), entry;

	if (mm)
		tlb405_set_pid(mm->context.number);
	if (tlb405_find(address, &entry))
		tlb405_write(entry, 0, 0);
	tlb405_set_pid(pid);
	__asm__ volatile("isync" : : : "memory");
}

CAUSE(flush) static void soft405_kernel_page_flush(vaddr_t address)
{
	soft405_page_flush(NULL, address);
}

/* tlbia would take the pinned entries too. */
static void soft405_flush_all(void)
{
	if (soft405_limit == TLB_ENTRIES_405)
		__asm__ volatile(MACHINE_405("tlbia") : : : "memory");
	else
		for (u32 entry = 0; entry < soft405_limit; entry++)
			tlb405_write(entry, 0, 0);
	__asm__ volatile("sync; isync" : : : "memory");
}

static void load_context(const struct mm *mm)
{
	context_root(mm);
	tlb405_set_pid(mm ? mm->context.number : CONTEXT_KERNEL);
	__asm__ volatile("isync" : : : "memory");
}

CAUSE(switch) static void soft405_activate(struct mm *mm)
{
	context_enter(mm);
	load_context(mm);
}

/* Kernel pages match in every address space, so there is nothing to load. */
static void kernel_context(void)
{
}

DECLARE_IMAGE(image_miss405_instruction_c);
DECLARE_IMAGE(image_miss405_data_c);
DECLARE_IMAGE(image_miss405_instruction_asm);
DECLARE_IMAGE(image_miss405_data_asm);
DECLARE_IMAGE(image_miss405_instruction_withheld);
DECLARE_IMAGE(image_miss405_data_withheld);
DECLARE_IMAGE(image_miss405_instruction_c_large);
DECLARE_IMAGE(image_miss405_data_c_large);
DECLARE_IMAGE(image_miss405_instruction_asm_large);
DECLARE_IMAGE(image_miss405_data_asm_large);
DECLARE_IMAGE(image_miss405_instruction_withheld_large);
DECLARE_IMAGE(image_miss405_data_withheld_large);
DECLARE_IMAGE(image_count405_instruction);
DECLARE_IMAGE(image_count405_data);

#define MISSES(form)                                                                             \
	{ .images = { { 0x1100, &image_miss405_data_##form, &image_count405_data },              \
		      { 0x1200, &image_miss405_instruction_##form, &image_count405_instruction } } }

static const struct reload_set *soft405_images(enum reload_form form)
{
	static const struct reload_set small[] = { MISSES(c), MISSES(asm), MISSES(withheld) },
		large[] = { MISSES(c_large), MISSES(asm_large), MISSES(withheld_large) };

	return (soft405_large_end ? large : small) + (form == RELOAD_C ? 0 : fetch_withheld ? 2 : 1);
}

static void map_large(bool on)
{
	soft405_large_end = on ? KERNEL_BASE + ALIGN_UP(boot.memory_size, 0x1000000u) : 0;
	reload_rebind();
	soft405_flush_all();
}

/* The TLB itself refuses the fetch: exception_fetch_refused(). */
static void withhold_fetch(void)
{
}

static void tlb_proc_init(void)
{
	proc_file("mmu/tlb", soft405_show, soft405_empty);
}

const struct ppc_backend soft405_backend = {
	.mmu = {
		.name = "soft405",
		.reload = "software reload",
		.memory_most = BOOT_BLOCKS_405 * 0x1000000u,
		.init = soft405_init,
		.proc_init = tlb_proc_init,
		.activate = soft405_activate,
		.page_flush = soft405_page_flush,
		.kernel_page_flush = soft405_kernel_page_flush,
		.flush_all = soft405_flush_all,
		.check = soft405_check,
		.check_page = soft405_check_page,
		.make_fault = tlb_make_fault,
	},
	.software_reload = true,
	.kernel_context = kernel_context,
	.load_context = load_context,
	.reload = soft405_images,
	.pin_kernel = soft405_pin_kernel,
	.map_large = map_large,
	.withhold_fetch = withhold_fetch,
};
