/* Policy hash.preload: what a fault inserts into a hash table, of 32 or 64 bits. */
#include <arch/hash.h>
#include <arch/pte.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>

static preload_page *page_preload;
static bool (*is_present)(u32 vsid, vaddr_t address);
static u32 window_pages;

CAUSE(fault) static void nothing_preloaded(struct mm *mm, vaddr_t address, u32 pte)
{
	(void)mm;
	(void)address;
	(void)pte;
}

/*
 * Inserts the page, and the other mapped pages of an aligned window of pages. A page must not be inserted twice, so
 * each is searched for first.
 */
CAUSE(fault) static void neighbours_preloaded(struct mm *mm, vaddr_t address, u32 pte)
{
	vaddr_t start = ALIGN_DOWN(address, window_pages << PAGE_SHIFT);
	const struct pte *entry;
	u32 vsid;

	if (mm != this_cpu()->mm || !(pte & PTE_VALID))
		return;
	page_preload(mm, address, pte);
	vsid = context_vsid(mm, address);
	entry = pagetable_find(mm->root, start);        /* one table covers the window */
	for (u32 page = 0; page < window_pages; page++, entry++, start += PAGE_SIZE)
		if (pte_present(pte_get(entry)) && start != ALIGN_DOWN(address, PAGE_SIZE) && !is_present(vsid, start))
			page_preload(mm, start, pte_get(entry));
}

void hash_preload_bind(enum hash_preload what, u32 pages, preload_page *page,
		       bool (*present)(u32 vsid, vaddr_t address))
{
	window_pages = pages;
	page_preload = page;
	is_present = present;
	page_installed_bind(what == HASH_PRELOAD_OFF ? nothing_preloaded :
			    what == HASH_PRELOAD_AROUND ? neighbours_preloaded : page);
}
