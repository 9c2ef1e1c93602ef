/*
 * Page tables that several address spaces have after a fork (policy fork.tables). A shared table holds no entry that
 * lets private memory be written, and nobody puts one in: whoever wants to change one gets a table of his own first.
 * Every sharer has an area for every entry. frame->refs of the table is the number of roots that point to it; while
 * it is shared, frame->private is the number of frames that its entries hold, each of which is held once.
 */
#include <arch.h>
#include <mmu.h>
#include <context.h>
#include <errno.h>
#include <lib.h>
#include <proc.h>

#include "internal.h"

u64 tables_shared;
bool (*fork_shares)(struct mm *parent, u32 base);

static u32 *slot_of(struct mm *mm, u32 address)
{
	return &pagetable_root(mm->root)[address >> ROOT_SHIFT];
}

static u32 base_of(u32 address)
{
	return pagetable_next(address) - TABLE_SPAN;
}

static bool shared(u32 root_entry)
{
	return root_entry && pa_frame(root_entry & PTE_RPN)->refs > 1;
}

/* Calls function for each entry, not 0, that the areas of the table at base have; `to` is where it lies in a twin. */
static void for_each_entry(struct mm *mm, u32 base, u32 *table, u32 *twin,
			   void (*function)(const struct vma *vma, u32 *entry, u32 *to))
{
	for (struct vma *vma = mm_find(mm, base); vma && vma->start < base + TABLE_SPAN; vma = mm_next(vma)) {
		u32 first = pagetable_index(MAX(vma->start, base));
		u32 last = pagetable_index(MIN(vma->end, base + TABLE_SPAN) - PAGE_SIZE);

		for (u32 i = first; i <= last; i++)
			if (table[i])
				function(vma, &table[i], &twin[i]);
	}
}

static u32 held;                /* frames that protect() has met */

static void protect(const struct vma *vma, u32 *entry, u32 *to)
{
	(void)to;
	if (!pte_frame(*entry))
		return;
	held++;
	if (!(vma->flags & VM_SHARED) && (*entry & PTE_PP) == PP_USER_RW)
		*entry = (*entry & ~(u32)(PTE_PP | PTE_CHANGED)) | PP_USER_RO;
}

bool table_share(struct mm *parent, struct mm *child, u32 address)
{
	u32 *from = slot_of(parent, address), *to = slot_of(child, address), base = base_of(address);
	struct frame *frame;

	if (!*from || *to || !fork_shares || !fork_shares(parent, base))
		return *from == *to;
	frame = pa_frame(*from & PTE_RPN);
	if (frame->refs == 1) {
		held = 0;
		for_each_entry(parent, base, pagetable_table(*from), pagetable_table(*from), protect);
		frame->private = (u16)held;
	}
	frame_get(frame);
	*to = *from;
	child->table_pages++;
	child->resident_pages += frame->private;
	tables_shared++;
	return true;
}

static void hold(const struct vma *vma, u32 *entry, u32 *to)
{
	(void)vma;
	if (pte_frame(*entry)) {
		struct frame *frame = frame_get(pa_frame(*entry & PTE_RPN));

		frame->mapped++;
	}
	*to = *entry;
}

int table_unshare(struct mm *mm, u32 address)
{
	u32 *slot = slot_of(mm, address);
	struct frame *own;

	if (!tables_shared || !shared(*slot))
		return 0;
	own = pagetable_table_new();
	if (!own)
		return -ENOMEM;
	for_each_entry(mm, base_of(address), pagetable_table(*slot), pagetable_table(frame_pa(own)), hold);
	frame_put(pa_frame(*slot & PTE_RPN));
	*slot = frame_pa(own) | mmu->root_bits;
	return 0;
}

int tables_unshare(struct mm *mm, u32 start, u32 end)
{
	int error = 0;

	for (; tables_shared && !error && start < end; start = pagetable_next(start)) {
		error = table_unshare(mm, start);
		interrupt_window();
	}
	return error;
}

static int failed;

static void unshare_all(struct mm *mm)
{
	if (!failed)
		failed = tables_unshare(mm, PAGE_SIZE, USER_END);
}

int tables_unshare_everywhere(void)
{
	failed = 0;
	context_for_each(unshare_all);
	return failed;
}

static void leave(struct mm *mm, u32 *slot)
{
	struct frame *frame = pa_frame(*slot & PTE_RPN);

	mm->resident_pages -= frame->private;
	mm->table_pages--;
	frame_put(frame);
	*slot = 0;
}

void tables_leave(struct vma *vma)
{
	for (u32 address = vma->start; tables_shared && address < vma->end; address = pagetable_next(address)) {
		u32 *slot = slot_of(vma->mm, address);

		if (shared(*slot))
			leave(vma->mm, slot);
	}
}

/* The table that table_lost() is about, and what it lost. */
static struct {
	u32 root_entry, address, frames;
} lost;

static void lose(struct mm *mm)
{
	if (*slot_of(mm, lost.address) == lost.root_entry)
		mm->resident_pages -= lost.frames;
}

void table_lost(struct mm *mm, u32 address, u32 frames)
{
	u32 root_entry = *slot_of(mm, address);

	if (!tables_shared || !shared(root_entry)) {
		mm->resident_pages -= frames;
		return;
	}
	pa_frame(root_entry & PTE_RPN)->private -= (u16)frames;
	lost.root_entry = root_entry;
	lost.address = address;
	lost.frames = frames;
	context_for_each(lose);
}
