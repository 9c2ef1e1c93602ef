/* The processor's own walk of the page-table tree, and its TLB. */
#include <arch.h>
#include <context.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>
#include <mmu.h>
#include <pagetable.h>
#include <shootdown.h>

#include "internal.h"

u64 contexts_renewed, contexts_retired, context_generations;
u32 context_limit = CONTEXT_NUMBERS;
u32 pte_kernel_bits;

/*
 * A load of CR3 leaves entries that are global; a change of CR4.PGE empties everything (Intel manual, volume 3A,
 * 4.10.4).
 */
CAUSE(flush) void tlb_empty(void)
{
	if (cpu_features & CPU_PGE) {
		u32 cr4 = cr4_read();

		cr4_write(cr4 & ~(u32)CR4_PGE);
		cr4_write(cr4);
	}
	cr3_write(cr3_read());
}

/* With several processors, another one may have it loaded. */
bool mm_context_live(const struct mm_context *context)
{
	return SEVERAL || (this_cpu()->mm && context == &this_cpu()->mm->context);
}

static void (*report_step)(struct mm *mm);      /* NULL: nobody asks for switches */

/* Other processors see that this one uses the address space before it loads a translation: a load of CR3 is a flush. */
CAUSE(switch) static void i386_activate(struct mm *mm)
{
	struct cpu *cpu = this_cpu();

	shootdown_entered();
	cpu->mm = mm;
	cpu->arch.window_used = false;
	if (mm) {
		cpu->running->arch.root = kva_pa(mm->root);
		shootdown_enter(mm);
	}
	cr3_write(kva_pa(mm ? mm->root : kernel_root));
}

CAUSE(switch) static void activate_and_report(struct mm *mm)
{
	i386_activate(mm);
	report_step(mm);
}

void activate_set_report(void (*step)(struct mm *mm))
{
	report_step = step;
	mmu->activate = step ? activate_and_report : i386_activate;
}

CAUSE(flush) static void i386_page_flush(struct mm *mm, vaddr_t address)
{
	if (mm == this_cpu()->mm)
		page_invalidate(address);
}

CAUSE(flush) static void i386_kernel_page_flush(vaddr_t address)
{
	page_invalidate(address);
}

/* The next walk finds a new entry. */
CAUSE(fault) static void found_by_walk(struct mm *mm, vaddr_t address, pte_t pte)
{
	(void)mm;
	(void)address;
	(void)pte;
}

static void i386_init(void)
{
	page_installed_bind(found_by_walk);
}

static void i386_proc_init(void)
{
}

/* The TLB cannot be read. */
static void i386_check(check_bad *bad)
{
	(void)bad;
}

static void i386_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	(void)mm;
	(void)address;
	(void)bad;
}

struct mmu_backend mmu[1] = { {
	.name = "i386",
	.reload = "hardware walks the tree",
	.root_bits = PTE_PRESENT | PTE_WRITE | PTE_USER | PTE_ACCESSED,
	.root_bits_kernel = PTE_PRESENT | PTE_WRITE | PTE_ACCESSED,
	.init = i386_init,
	.proc_init = i386_proc_init,
	.activate = i386_activate,
	.page_flush = i386_page_flush,
	.kernel_page_flush = i386_kernel_page_flush,
	.flush_all = tlb_empty,
	.check = i386_check,
	.check_page = i386_check_page,
} };

/* The TLB caches only the active address space. So a new context is an empty TLB, and needed for that space only. */
CAUSE(flush) static inline __attribute__((always_inline)) void renew_here(struct mm *mm)
{
	contexts_renewed++;
	contexts_retired++;
	if (mm == this_cpu()->mm)
		cr3_write(kva_pa(mm->root));
}

CAUSE(flush) void context_renew(struct mm *mm)
{
	renew_here(mm);
	shootdown_context(mm);
}

/* The address space's tree is freed only after another tree has been activated. */
CAUSE(flush) void context_forget(struct mm *mm)
{
	if (context_live(mm))
		contexts_retired++;
	if (mm == this_cpu()->mm)
		cr3_write(kva_pa(mm->root));
}

CAUSE(flush) void context_restart(void)
{
	context_generations++;
	tlb_empty();
	mmu->activate(this_cpu()->mm);
}

int arch_fetch_withhold(bool on)
{
	return on ? -ENODEV : 0;
}

int arch_sample(u32 cycles)
{
	return cycles ? -EOPNOTSUPP : 0;
}

bool arch_maps_uncached(void)
{
	return false;
}
