/* Binds the images of the reload handlers, and counts misses. */
#include <arch/image.h>
#include <arch/message.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/reload.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>

u64 pinned_loaded, reloads_c, reloads_assembly, reloads_bypass;

CAUSE(reload) u32 reload_entry(vaddr_t address, u32 access)
{
	u32 need = access == MM_WRITE ? PTE_VALID | PTE_CHANGED : PTE_VALID;
	u32 pte;

	if (!this_cpu()->mm || address >= KERNEL_BASE)
		return 0;
	pte = pagetable_read(this_cpu()->mm->root, address);
	if ((pte & need) != need)
		return 0;
	reloads_c++;
	return pte;
}
u64 misses_instruction[2], misses_data[2], misses_of_kernel_pages;
static enum reload_form chosen_form;
static bool misses_counted;
static u64 misses_accounted;    /* misses already added to reloads_assembly or reloads_bypass */

static void install_all(void)
{
	const struct reload_set *set = backend->reload(chosen_form);

	for (unsigned i = 0; i < ARRAY_SIZE(set->images) && set->images[i].vector; i++) {
		if (misses_counted && set->images[i].count)
			image_install_before(set->images[i].vector, set->images[i].count, set->images[i].image);
		else
			image_install(set->images[i].vector, set->images[i].image);
	}
}

/* Which handlers were bound since the last count, and so served the misses since. */
static bool bound_assembly, bound_bypass;

void arch_policies_account(void)
{
	u64 now = misses_instruction[0] + misses_instruction[1] + misses_data[0] + misses_data[1];

	if (bound_assembly)
		reloads_assembly += now - misses_accounted;
	if (bound_bypass)
		reloads_bypass += now - misses_accounted;
	misses_accounted = now;
	messages_account();
}

void reload_rebind(void)
{
	arch_policies_account();
	bound_assembly = chosen_form != RELOAD_C;
	bound_bypass = backend->reload(RELOAD_ASSEMBLY)->straight;
	install_all();
}

void reload_count(bool on)
{
	misses_counted = on;
	install_all();
}

bool reload_counting(void)
{
	return misses_counted;
}

void reload_count_reset(void)
{
	arch_policies_account();
	misses_instruction[0] = misses_instruction[1] = misses_data[0] = misses_data[1] = misses_accounted = 0;
}

void reload_bind(enum reload_form to)
{
	chosen_form = to;
	reload_rebind();
}

bool fetch_withheld;

int arch_fetch_withhold(bool on)
{
	if (!backend->withhold_fetch)
		return on ? -ENODEV : 0;
	if (fetch_withheld == on)
		return 0;
	fetch_withheld = on;
	backend->withhold_fetch();
	reload_rebind();
	mmu->flush_all();
	return 0;
}
