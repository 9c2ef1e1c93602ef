/* Reading the PPC405's TLB for /proc and for the invariant checker, and pinning entries in it. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/pte.h>
#include <arch/soft405.h>
#include <arch/vsid.h>
#include <errno.h>
#include <lib.h>
#include <pagetable.h>
#include <text.h>

#include "../internal.h"
#include "tlb.h"

#define BLOCK       0x1000000u  /* what an entry pins */
#define BLOCK_8MB   0x800000u
#define PINNED_MOST 8u

struct entry {
	vaddr_t address;
	paddr_t pa;
	u32 bytes, low, pid;
};

/* False: the entry is not valid. */
static bool tlb_entry_read(u32 number, struct entry *e)
{
	u32 pid = tlb405_pid(), msr = irq_save(), high;

	tlb405_read(number, &high, &e->low);
	e->pid = tlb405_pid();
	tlb405_set_pid(pid);
	irq_restore(msr);
	e->bytes = 0x400u << 2 * ((high & TLBHI_SIZE) >> TLBHI_SIZE_SHIFT);
	e->address = high & ~(e->bytes - 1);
	e->pa = e->low & TLBLO_RPN & ~(e->bytes - 1);
	return high & TLBHI_VALID;
}

/* The tree of an entry's address space; NULL: none. */
static const struct root_entry *tlb_entry_root(const struct entry *e)
{
	u32 segment;

	return e->pid == CONTEXT_KERNEL ? kernel_root : context_find(16 * e->pid + (e->address >> 28), &segment);
}

static void tlb_entry_check(u32 number, vaddr_t address, check_bad *bad)
{
	struct entry e;
	const struct root_entry *root;
	u32 pte, low;

	if (!tlb_entry_read(number, &e) || address - e.address >= e.bytes)
		return;
	root = tlb_entry_root(&e);
	if (!root)
		return;         /* its number is unused until the TLB has been emptied */
	pte = pagetable_read(root, address);
	low = soft405_low(pte);
	if (!(pte & PTE_VALID))
		bad("the TLB maps a page that the tree does not", e.pid, address, e.low);
	else if ((pte & PTE_RPN) != e.pa + ((address - e.address) & PAGE_MASK) ||
		 ((e.low ^ low) & TLBLO_ZONE_USER) || (e.low & TLBLO_WRITE && !(low & TLBLO_WRITE)) ||
		 (e.low & TLBLO_EXECUTE && !(low & TLBLO_EXECUTE) && address < KERNEL_BASE) ||
		 (e.pid == CONTEXT_KERNEL) != (address >= KERNEL_BASE))
		bad("TLB and tree differ", e.pid, address, e.low);
}

/* Of a large page, it checks the first 4 KB. */
void soft405_check(check_bad *bad)
{
	struct entry e;

	for (u32 n = 0; n < TLB_ENTRIES_405; n++)
		if (tlb_entry_read(n, &e))
			tlb_entry_check(n, e.address, bad);
}

/* The TLB is fully associative: any entry may map the page. */
void soft405_check_page(const struct mm *mm, vaddr_t address, check_bad *bad)
{
	(void)mm;
	for (u32 n = 0; n < TLB_ENTRIES_405; n++)
		tlb_entry_check(n, address, bad);
}

/*
 * Lines "27 c0012000 4 KB -> 00012000 kernel": index, address, size, frame, owner. All entries are read first, because
 * writing text changes them.
 */
void soft405_show(struct text *text)
{
	static struct entry all[TLB_ENTRIES_405];
	static bool valid[TLB_ENTRIES_405];

	for (u32 n = 0; n < TLB_ENTRIES_405; n++)
		valid[n] = tlb_entry_read(n, &all[n]);
	for (u32 n = 0; n < TLB_ENTRIES_405; n++) {
		const struct entry *e = &all[n];

		if (!valid[n])
			continue;
		text_printf(text, "%2u %08x %u KB -> %08x ", n, e->address, e->bytes >> 10, e->pa);
		if (e->pid == CONTEXT_KERNEL)
			text_puts(text, "kernel");
		else
			text_printf(text, "user %u", e->pid);
		text_printf(text, "%s%s%s\n", e->low & TLBLO_WRITE ? " writable" : "",
			    e->low & TLBLO_EXECUTE ? "" : " no fetch", n >= soft405_limit ? " pinned" : "");
	}
}

/* Any write invalidates all entries that are not pinned. */
int soft405_empty(const char *words, size_t size)
{
	(void)words;
	(void)size;
	mmu->flush_all();
	return 0;
}

struct pinned {
	u32 high, low;
};

/* vectors.S */
void soft405_pin(u32 table_pa, u32 count);
extern u32 soft405_next;

/* One TLB serves both sides, so that an entry for text is one for data too. */
void soft405_pin_kernel(u32 text, u32 data, bool io)
{
	static struct pinned table[PINNED_MOST];
	u32 blocks = MIN(ALIGN_UP(MAX(text, data) * BLOCK_8MB, BLOCK), ALIGN_UP(boot.memory_size, BLOCK)) / BLOCK;
	u32 msr = irq_save(), pid = tlb405_pid(), count = 0;

	for (; count < blocks; count++)
		table[count] = (struct pinned){ (KERNEL_BASE + count * BLOCK) | TLBHI_16M | TLBHI_VALID,
						count * BLOCK | TLBLO_EXECUTE | TLBLO_WRITE };
	if (io)
		table[count++] = (struct pinned){ IO_VIRTUAL | TLBHI_16M | TLBHI_VALID,
						  IO_PHYSICAL | TLBLO_WRITE | TLBLO_INHIBITED | TLBLO_GUARDED };
	soft405_limit = soft405_next = TLB_ENTRIES_405 - count;
	pinned_loaded += count;
	tlb405_set_pid(CONTEXT_KERNEL);
	soft405_pin(kva_pa(table), count);
	tlb405_set_pid(pid);
	irq_restore(msr);
}
