/*
 * The invariant checker. For every address space: each entry of the tree lies in an area that allows it, and the frame
 * that it maps is in use and counts it; areas are in order and do not overlap; the accounts are right. For every
 * cached translation in the hash table and (if the control device shows it) in the TLB: the tree has the same.
 */
#include <arch.h>
#include <check.h>
#include <context.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <outside.h>
#include <pagetable.h>
#include <smp.h>
#include <text.h>

u64 check_runs, check_sweeps;
static const char *checked_operation;
static unsigned contradiction_count;

/* By frame: the entries that map it, counted by a sweep; of a page table, the roots that have it. */
static u32 *mappings_found;
#define MAPPED_PRIVATE_WRITABLE 0x80000000u     /* some entry permits writing a private page */

#define CONTRADICTIONS_SHOWN 10

/*
 * Operations until the next sweep. A sweep looks at every page that is mapped, and at every place of a tree where one
 * could be, so with many pages or trees sweeps are rarer: an operation pays for PAGES_AN_OPERATION of them at most, and
 * for no more in a program that maps page after page. The places of a root or of a table take as long as so many pages.
 * While one processor sweeps, the others wait for the kernel lock, so sweeps are rarer, the more processors there are.
 */
#define PAGES_AN_OPERATION 16u
#define ROOT_IN_PAGES      48u
#define TABLE_IN_PAGES     16u
static u32 operations_left = CHECK_SWEEP_EVERY;
static u32 pages_swept;

/* The hash-table entries of a larger range are found by scanning the whole table. */
#define PAGES_SEARCHED 1024u

void check_init(void)
{
	unsigned order = 0;
	struct frame *block;

	if (!boot.check)
		return;
	while (PAGE_SIZE << order < frame_count * sizeof(*mappings_found))
		order++;
	block = frame_alloc_order(FRAME_KERNEL, order);
	if (!block)
		fatal(EXIT_MEMORY, "invariant checker: no memory");
	mappings_found = frame_kva(block);
}

static void check_report(const char *what, u32 space, vaddr_t address, vaddr_t entry)
{
	if (contradiction_count++ < CONTRADICTIONS_SHOWN)
		console_printf("check: after %s: %s (context 0x%06x, address 0x" ADDRESS_HEX ", entry 0x" ADDRESS_HEX ")\n",
			       checked_operation, what, space, address, entry);
}

static void begin_report(const char *operation)
{
	outside_close();
	checked_operation = operation;
	contradiction_count = 0;
}

static void end_check(void)
{
	if (contradiction_count)
		panic("check: %u contradictions after %s", contradiction_count, checked_operation);
	outside_open();
}

static bool private_writable(const struct vma *vma, pte_t pte)
{
	return pte_writable(pte) && !(vma->flags & VM_SHARED);
}

/* shared: other address spaces have the entry's table too. */
static void check_tree_entry(struct mm *mm, const struct vma *vma, vaddr_t address, pte_t pte, bool shared)
{
	u32 number = page_number(pte_pa(pte));

	if (!vma || vma->start > address)
		check_report("an entry outside of every area", mm_context_id(&mm->context), address, pte_word(pte));
	else if (pte_writable(pte) && !(vma->flags & VM_WRITE))
		check_report("a writable entry in an area that is not", mm_context_id(&mm->context), address, pte_word(pte));
	else if (number < frame_count && (frames[number].refs == 0 || frames[number].use <= FRAME_RESERVED))
		check_report("an entry for a frame that is free", mm_context_id(&mm->context), address, pte_word(pte));
	else if (shared && private_writable(vma, pte) && number < frame_count)
		check_report("a private page is writable in two places", mm_context_id(&mm->context), address, pte_word(pte));
}

/* What is done with each entry of a walk through a tree, beside the check of the entry itself. */
enum walk {
	WALK_ONLY,
	WALK_COUNT,             /* a sweep counts how often a frame is mapped */
	WALK_CACHED,            /* what is cached of the page is checked */
};

/* What a walk through a tree found. */
struct found {
	u32 tables, resident;   /* resident: entries for frames */
};

/* The first entry from `at` on that may be there, or `end`. A sweep spends most of its time here. */
static const struct pte *skip_empty(const struct pte *at, const struct pte *end)
{
	while (at < end && (vaddr_t)at % (PTE_LINE * sizeof(*at)) == 0 && pte_line_none(at))
		at += PTE_LINE;
	return at;
}

/* Checks the entries of [start, end), which one table covers. */
static void check_table(struct mm *mm, vaddr_t start, vaddr_t end, const struct frame *frame, enum walk walk,
			struct found *found)
{
	const struct pte *first = pagetable_find(mm->root, start), *last = first + ((end - start) >> PAGE_SHIFT);
	const struct vma *vma = NULL;

	if (frame->refs == 0 || frame->use != FRAME_PAGE_TABLE)
		check_report("a page table in a frame that holds none", mm_context_id(&mm->context), start, frame_pa(frame));
	for (const struct pte *entry = skip_empty(first, last); entry < last; entry = skip_empty(entry + 1, last)) {
		vaddr_t address = start + ((vaddr_t)(entry - first) << PAGE_SHIFT);
		pte_t pte = pte_get(entry);
		u32 number = page_number(pte_pa(pte));

		if (pte_none(pte))
			continue;
		if (!vma || address >= vma->end)
			vma = mm_find(mm, address);
		check_tree_entry(mm, vma, address, pte, frame->refs > 1);
		if (walk == WALK_CACHED)
			mmu->check_page(mm, address, check_report);
		if (number >= frame_count)
			continue;
		found->resident++;
		if (walk != WALK_COUNT)
			continue;
		mappings_found[number]++;
		if (vma && private_writable(vma, pte))
			mappings_found[number] |= MAPPED_PRIVATE_WRITABLE;
	}
}

/* Checks the entries of [start, end), table by table; a sweep counts a shared table once. */
static struct found check_tree_entries(struct mm *mm, vaddr_t start, vaddr_t end, enum walk walk)
{
	struct found found = { 0, 0 };
	vaddr_t next;

	for (; start < end; start = next) {
		const struct root_entry *slot = pagetable_slot(mm->root, start);
		bool again;

		next = MIN(pagetable_next(start), end);
		if (slot_empty(slot))
			continue;
		again = walk == WALK_COUNT && mappings_found[frame_number(slot_frame(slot))]++;
		found.tables++;
		check_table(mm, start, next, slot_frame(slot), again ? WALK_ONLY : walk, &found);
	}
	return found;
}

/* Checks the areas of [start, end) and their neighbours. */
static void check_areas(struct mm *mm, vaddr_t start, vaddr_t end)
{
	struct vma *vma = mm_find(mm, start);
	struct rb_node *before = vma ? rb_prev(&vma->node) : NULL;
	uaddr_t last = before ? rb_entry(before, struct vma, node)->end : 0;

	for (; vma; vma = mm_next(vma)) {
		if (vma->start < last || vma->end <= vma->start)
			check_report("areas overlap or are out of order", mm_context_id(&mm->context), vma->start,
				     vma->end);
		if (vma->start >= end)
			break;
		last = vma->end;
	}
}

static void check_accounts(struct mm *mm, struct found found)
{
	u32 pages = 0, areas = 0;

	for (struct vma *vma = mm_first(mm); vma; vma = mm_next(vma)) {
		areas++;
		pages += page_count(vma->end - vma->start);
	}
	if (found.resident != mm->resident_pages)
		check_report("resident pages miscounted", mm_context_id(&mm->context), found.resident,
			     mm->resident_pages);
	/* The root is one. */
	if (found.tables + 1 != mm->table_pages)
		check_report("tables miscounted", mm_context_id(&mm->context), found.tables + 1, mm->table_pages);
	if (areas != mm->area_count || pages != mm->total_pages)
		check_report("areas miscounted", mm_context_id(&mm->context), pages, mm->total_pages);
	if (!areas_surveyed_right(mm))
		check_report("room between areas misjudged", mm_context_id(&mm->context), areas, pages);
}

static void check_space(struct mm *mm)
{
	struct found found;

	check_areas(mm, 0, USER_END);
	found = check_tree_entries(mm, 0, USER_END, WALK_COUNT);
	check_accounts(mm, found);
	pages_swept += found.resident + ROOT_IN_PAGES + found.tables * TABLE_IN_PAGES;
}

static void check_cached(struct mm *mm, vaddr_t start, vaddr_t end)
{
	if (!context_live(mm))
		return;
	if ((end - start) >> PAGE_SHIFT > PAGES_SEARCHED) {
		mmu->check(check_report);
		return;
	}
	for (vaddr_t address = start; address < end; address += PAGE_SIZE)
		mmu->check_page(mm, address, check_report);
}

/* The owners of a frame of programs are the entries that map it, and copies; a file's page also has its file. */
static bool holds_wrong(const struct frame *frame, u32 mapped)
{
	if (frame->use == FRAME_FREE)
		return mapped;
	if (frame->use != FRAME_ANONYMOUS || frame->refs == mapped)
		return frame->refs < mapped;
	return frame->refs != mapped + frame_notes(frame);
}

/* Checks the counts of frames by use, and whether each frame's references match its mappings. */
static void check_frames(void)
{
	struct frame_statistics statistics;
	u32 use[FRAME_USES] = { 0 };

	for (u32 number = 0; number < frame_count; number += 1u << frames[number].order) {
		const struct frame *frame = &frames[number];
		u32 mapped = mappings_found[number] & ~MAPPED_PRIVATE_WRITABLE;

		use[frame->use] += 1u << frame->order;
		/*
		 * A cleared free frame uses `refs` as a link (mm/cleared.c); roots, and the kernel's tables, are in no
		 * root.
		 */
		if (frame->use == FRAME_PAGE_TABLE) {
			if (mapped && frame->refs != mapped)
				check_report("a page table's roots miscounted", mapped, number << PAGE_SHIFT,
					     frame->refs);
		} else if (holds_wrong(frame, mapped)) {
			check_report("a frame's mappings miscounted", mapped, number << PAGE_SHIFT, frame->refs);
		}
		if (mapped > 1 && mappings_found[number] & MAPPED_PRIVATE_WRITABLE)
			check_report("a private page is writable in two places", mapped, number << PAGE_SHIFT, frame->refs);
	}
	frame_statistics(&statistics);
	for (unsigned i = 0; i < FRAME_USES; i++)
		if (use[i] != statistics.use[i])
			check_report("frames of a use miscounted", i, use[i], statistics.use[i]);
}

static void count_held(const struct frame *frame)
{
	mappings_found[frame_number(frame)]++;
}

void check_sweep(const char *operation)
{
	begin_report(operation);
	check_sweeps++;
	pages_swept = 0;
	memset(mappings_found, 0, frame_count * sizeof(*mappings_found));
	mm_for_each(check_space);
	frames_held_each(count_held);
	check_frames();
	mmu->check(check_report);
	operations_left = cpu_count * MAX(CHECK_SWEEP_EVERY, pages_swept / PAGES_AN_OPERATION);
	end_check();
}

/* Counts an operation. When it is time for a sweep, it checks everything, and returns true. */
static bool check_swept(const char *operation)
{
	check_runs++;
	if (--operations_left)
		return false;
	check_sweep(operation);
	return true;
}

void check_run(struct mm *mm, vaddr_t start, vaddr_t end, const char *operation)
{
	start = ALIGN_DOWN(start, PAGE_SIZE);
	end = MIN(ALIGN_UP(end, PAGE_SIZE), USER_END);
	if (start >= end || check_swept(operation))
		return;
	begin_report(operation);
	check_areas(mm, start, end);
	check_tree_entries(mm, start, end, WALK_ONLY);
	check_cached(mm, start, end);
	end_check();
}

struct kernel_range {
	vaddr_t start, end;
};

static void check_kernel_pages(void *argument)
{
	const struct kernel_range *range = argument;

	if (this_cpu()->stale)
		return;         /* dozes: empties its TLB when it wakes */
	for (vaddr_t address = range->start; address < range->end; address += PAGE_SIZE)
		mmu->check_page(NULL, address, check_report);
}

void check_run_kernel(vaddr_t start, vaddr_t end, const char *operation)
{
	struct kernel_range range = { start, end };

	if (check_swept(operation))
		return;
	begin_report(operation);
	check_kernel_pages(&range);
	/* One after the other: they read the TLB by registers of one device. */
	for_each_cpu(cpu)
		if (cpu != this_cpu())
			cpus_call(1u << cpu->number, check_kernel_pages, &range);
	end_check();
}

void check_run_tree(struct mm *mm, const char *operation)
{
	if (check_swept(operation))
		return;
	begin_report(operation);
	check_areas(mm, 0, USER_END);
	check_tree_entries(mm, 0, USER_END, context_live(mm) ? WALK_CACHED : WALK_ONLY);
	end_check();
}

void check_show(struct text *text)
{
	text_printf(text, "check %s\noperations %llu\nsweeps %llu\nslept %llu\nwritten %llu\nsynced %llu\n",
		    boot.check_sleeps ? "sleep" : boot.check ? "on" : "off", check_runs, check_sweeps, check_slept,
		    check_written, check_synced);
}
