/*
 * pte.update: when a change of many entries flushes the cached translations of their pages (Mackerras 2003, section 4).
 *
 * range: for every page of the range, mapped or not: by unmapping before the first entry of the tree is cleared, at the
 * end of an address space (exit, exec) and after a fork by a scan of all areas. immediate: with each entry, as it is
 * cleared or becomes read-only. batch: entries are changed and listed; then the listed pages are flushed, and only
 * after that are their frames freed. With tlb.flush=lazy or a cutoff nothing is left to do at an end or a fork, and
 * with fork.tables=share a fork scans. mprotect and mremap always flush by ranges.
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

/* Clears a range without a flush for each page: no page is cached, or all of the address space is flushed. */
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

static struct batch fork_batch;     /* pages that a fork has changed; it flushes them before anybody else runs */
static void (*fork_flush)(struct mm *mm, uaddr_t address);

bool flush_at_update;

bool flushes_at_update(void)
{
	return flush_cutoff == ~0u && !flush->whole_is_short && !fork_shares && !tables_shared;
}

static void ended_immediately(struct vma *vma, uaddr_t start, uaddr_t end)
{
	zap_walk(vma->mm, start, end, one_at_once, NULL);
}

static void ended_in_batches(struct vma *vma, uaddr_t start, uaddr_t end)
{
	struct batch batch;

	batch.count = 0;
	zap_walk(vma->mm, start, end, one_listed, &batch);
	batch_flush(vma->mm, &batch);
}

void (*zap_ended)(struct vma *vma, uaddr_t start, uaddr_t end) = ended_immediately;

static void forked_at_once(struct mm *mm, uaddr_t address)
{
	page_gone(mm, address);
	shootdown(mm, address, address + PAGE_SIZE);
}

static void forked_listed(struct mm *mm, uaddr_t address)
{
	if (fork_batch.count == BATCH)
		batch_flush(mm, &fork_batch);
	fork_batch.page[fork_batch.count].address = address;
	fork_batch.page[fork_batch.count++].frame = NULL;
}

void fork_protected(struct mm *mm, uaddr_t address)
{
	mm->flush_reason = SHOOTDOWN_FORK;
	if (context_live(mm))
		fork_flush(mm, address);
}

void fork_protected_all(struct mm *mm)
{
	batch_flush(mm, &fork_batch);
}

static int pte_update_apply(const struct policy_setting *to)
{
	static void (*const forms[])(struct vma *vma, uaddr_t start, uaddr_t end) = {
		zap_by_range, zap_immediately, zap_in_batches,
	};

	zap_bind(forms[to->choice]);
	flush_at_update = to->choice != 0;
	if (flush_at_update) {
		fork_flush = to->choice == 1 ? forked_at_once : forked_listed;
		zap_ended = to->choice == 1 ? ended_immediately : ended_in_batches;
	}
	return 0;
}

POLICY(pte_update, "pte.update", CHOICES("range", "immediate", "batch"), POLICY_ANY, pte_update_apply,
       "pages_at_update", &at_update);
