/*
 * icache.flush: when a page that programs may execute is made visible to instruction fetch, which does not see the
 * contents of the data cache (Mackerras 2003, section 2).
 *
 * That is, its lines are written back, and invalidated in the instruction cache. every: whatever page a fault has made
 * accessible, also one that is anonymous, a copy, or data, as Linux/PPC 2.0.4 did (arch/ppc/mm/fault.c, do_page_fault).
 * mapping: an executable page, each time it is mapped. once: the same, unless its file cannot have changed since the
 * last time. The frame's note is the edition of the file for which it was done.
 */
#include <arch.h>
#include <frame.h>
#include <fs.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <policy.h>

static u64 flushes_changed;     /* flushes that `mapping` would have done and `once` did not; those of `every` */
static void (*insert_plainly)(struct mm *mm, vaddr_t address, pte_t pte);
static bool fetch_every;
u32 fetch_asks_others;

void (*page_installed)(struct mm *mm, vaddr_t address, pte_t pte);

CAUSE(fault) static void flushed_and_inserted(struct mm *mm, vaddr_t address, pte_t pte)
{
	struct frame *frame = pte_frame(pte);

	if (frame) {
		arch_icache_sync(frame_kva(frame), PAGE_SIZE);
		flushes_changed++;
	}
	insert_plainly(mm, address, pte);
}

void page_installed_bind(void (*to)(struct mm *mm, vaddr_t address, pte_t pte))
{
	insert_plainly = to;
	page_installed = fetch_every ? flushed_and_inserted : insert_plainly;
}

/* every: nothing to do here, because each page is flushed when it has been entered in the tree. */
static void flushed_when_entered(const struct vma *vma, struct frame *frame)
{
	(void)vma;
	(void)frame;
}

static void at_mapping(const struct vma *vma, struct frame *frame)
{
	(void)vma;
	arch_icache_sync(frame_kva(frame), PAGE_SIZE);
}

CAUSE(fault) static void flush_once(const struct vma *vma, struct frame *frame)
{
	bool settled = vma->file && frame->use == FRAME_CACHE && !vma->inode->writers &&
		       vma->inode->edition < EDITIONS_MOST;

	if (settled && frame->private == vma->inode->edition) {
		flushes_changed++;
		return;
	}
	arch_icache_sync(frame_kva(frame), PAGE_SIZE);
	if (settled)
		frame->private = vma->inode->edition;
}

static int icache_flush_apply(const struct policy_setting *to)
{
	static void (*const forms[])(const struct vma *vma, struct frame *frame) =
		{ flushed_when_entered, at_mapping, flush_once };

	fetch_ready = forms[to->choice];
	fetch_every = to->choice == 0;
	fetch_asks_others = arch_tlb_broadcasts() ? 0 : fetch_every ? VM_PROT : VM_EXEC;
	if (insert_plainly)
		page_installed_bind(insert_plainly);
	return 0;
}

POLICY_BUT(icache_flush, "icache.flush", CHOICES("every", "mapping", "once"), 1, POLICY_ANY, icache_flush_apply,
	   "flushes_changed", &flushes_changed);
