/*
 * pte.update: when unmapping a range flushes the cached translations of its pages (Mackerras 2003, section 4).
 *
 * range: before the first entry of the tree is cleared, for every page of the range, mapped or not. immediate: with
 * each entry, as it is cleared. batch: entries are cleared and listed; then the listed pages are flushed, and only
 * after that are their frames freed. The end of an address space is left to tlb.flush.
 */
#include <context.h>
#include <flush.h>
#include <mmu.h>
#include <policy.h>
#include <shootdown.h>
#include <smp.h>

#include "../zap.h"

/* Entries of a batch: what eight cache lines of a table hold. */
#define BATCH 64u

static u64 at_update;           /* pages flushed together with their entries */
struct batch {
	u32 count;
	struct {
		uaddr_t address;
		struct frame *frame;    /* NULL: the entry held none */
	} page[BATCH];
};

NOINLINE CAUSE(flush) static void page_gone(struct mm *mm, uaddr_t address)
{
	mmu->page_flush(mm, address);
	flush_pages++;
	at_update++;
}

/*
 * Flushes first. No program of this processor runs before the entries are cleared that could use or reload one
 * (interrupt handlers touch no user memory), and a frame is freed only when no translation reaches it. Another
 * processor could use or load a translation between its flush and the change of the tree, so with several, entries
 * become invalid before the flush, but keep their frames until it is done.
 */
static void zap_by_range(struct vma *vma, uaddr_t start, uaddr_t end)
{
	range_hide(vma->mm, start, end);
	flush->range(vma->mm, start, end);
	zap_unflushed(vma, start, end);
}

/* Clears a range of which no page is flushed alone: nothing of it is cached, or all of the address space is flushed. */
static bool zapped_whole(struct vma *vma, uaddr_t start, uaddr_t end)
{
	if (SEVERAL && context_live(vma->mm) && (end - start) >> PAGE_SHIFT > flush_cutoff) {
		zap_by_range(vma, start, end);
		return true;
	}
	if (!flush_range_whole(vma->mm, start, end))
		return false;
	zap_unflushed(vma, start, end);
	return true;
}

static u32 one_at_once(struct mm *mm, uaddr_t address, struct pte *entry, void *argument)
{
	struct frame *frame = pte_frame(pte_get(entry));

	(void)argument;
	if (SEVERAL)
		pagetable_set(entry, pte_hide(pte_get(entry)));
	page_gone(mm, address);
	shootdown(mm, address, address + PAGE_SIZE);
	pagetable_clear(entry);
	if (frame)
		frame_unmapped(mm, frame);
	return frame != NULL;
}

static void zap_immediately(struct vma *vma, uaddr_t start, uaddr_t end)
{
	if (!zapped_whole(vma, start, end))
		zap_walk(vma->mm, start, end, one_at_once, NULL);
}

static void batch_flush(struct mm *mm, struct batch *batch)
{
	if (!batch->count)
		return;
	for (u32 i = 0; i < batch->count; i++)
		page_gone(mm, batch->page[i].address);
	shootdown(mm, batch->page[0].address, batch->page[batch->count - 1].address + PAGE_SIZE);
	for (u32 i = 0; i < batch->count; i++)
		if (batch->page[i].frame)
			frame_unmapped(mm, batch->page[i].frame);
	batch->count = 0;
}

/* pagetable_set() keeps what the backend needs to find the page's cached translation (arch/pte.h). */
static u32 one_listed(struct mm *mm, uaddr_t address, struct pte *entry, void *argument)
{
	struct batch *batch = argument;
	struct frame *frame = pte_frame(pte_get(entry));

	if (batch->count == BATCH)
		batch_flush(mm, batch);
	batch->page[batch->count].address = address;
	batch->page[batch->count++].frame = frame;
	pagetable_set(entry, PTE_NONE);
	return frame != NULL;
}

static void zap_in_batches(struct vma *vma, uaddr_t start, uaddr_t end)
{
	struct batch batch;

	if (zapped_whole(vma, start, end))
		return;
	batch.count = 0;
	zap_walk(vma->mm, start, end, one_listed, &batch);
	batch_flush(vma->mm, &batch);
}

static int pte_update_apply(const struct policy_setting *to)
{
	static void (*const forms[])(struct vma *vma, uaddr_t start, uaddr_t end) = {
		zap_by_range, zap_immediately, zap_in_batches,
	};

	zap_bind(forms[to->choice]);
	return 0;
}

POLICY(pte_update, "pte.update", CHOICES("range", "immediate", "batch"), POLICY_ANY, pte_update_apply,
       "pages_at_update", &at_update);
