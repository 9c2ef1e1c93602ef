/*
 * Page tables that several address spaces share after a fork (policy fork.tables). A shared table has no entry that
 * permits writing to private memory, and no entry of it is ever changed: an address space that must change one gets
 * its own copy of the table first. Every sharer has an area for every entry. The table's frame->refs counts the roots
 * that point to it; while it is shared, its frame->private counts the frames that its entries hold, each with one
 * reference.
 */
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <window.h>

#include "internal.h"

u32 tables_shared;
u64 table_shares;
bool (*fork_shares)(struct mm *parent, uaddr_t base);

static struct root_entry *slot_of(struct mm *mm, uaddr_t address)
{
	return pagetable_slot(mm->root, address);
}

static uaddr_t base_of(uaddr_t address)
{
	return pagetable_next(address) - TABLE_SPAN;
}

static bool table_is_shared(const struct root_entry *slot)
{
	return !slot_empty(slot) && slot_frame(slot)->refs > 1;
}

/*
 * Calls function for each valid entry of the table at base that lies in an area; `to` is the entry's place in another
 * table. Returns the number of entries that hold a frame.
 */
static u32 for_each_entry(struct mm *mm, uaddr_t base, struct pte *table, struct pte *other,
			  bool (*function)(const struct vma *vma, struct pte *entry, struct pte *to))
{
	u32 frames = 0;

	for (struct vma *vma = mm_find(mm, base); vma && vma->start < base + TABLE_SPAN; vma = mm_next(vma)) {
		u32 first = pagetable_index(MAX(vma->start, base));
		u32 last = pagetable_index(MIN(vma->end, base + TABLE_SPAN) - PAGE_SIZE);

		for (u32 i = first; i <= last; i++)
			if (!pte_none(pte_get(&table[i])))
				frames += function(vma, &table[i], &other[i]);
	}
	return frames;
}

/* Makes a private page read-only. True: the entry holds a frame. */
static bool protect_entry(const struct vma *vma, struct pte *entry, struct pte *to)
{
	pte_t pte = pte_get(entry);

	(void)to;
	if (!pte_frame(pte))
		return false;
	if (!(vma->flags & VM_SHARED) && pte_writable(pte))
		pagetable_set(entry, pte_write_protect(pte));
	return true;
}

bool table_share(struct mm *parent, struct mm *child, uaddr_t address)
{
	struct root_entry *from = slot_of(parent, address), *to = pagetable_slot_make(child->root, address);
	uaddr_t base = base_of(address);
	struct frame *frame;

	if (!to || slot_empty(from) || !slot_empty(to) || !fork_shares || !fork_shares(parent, base))
		return to && slot_same(from, to);
	frame = slot_frame(from);
	if (frame->refs == 1) {
		frame->private = (u16)for_each_entry(parent, base, slot_table(from), slot_table(from), protect_entry);
		tables_shared++;
	}
	frame_get(frame);
	slot_share(to, from);
	child->table_pages++;
	child->resident_pages += frame->private;
	table_shares++;
	pagetable_uncertain = ~(paddr_t)0;
	faults_bind();
	return true;
}

/* Copies an entry, which then holds its frame once more. True: it holds one. */
static bool copy_entry(const struct vma *vma, struct pte *entry, struct pte *to)
{
	struct frame *frame = pte_frame(pte_get(entry));

	(void)vma;
	if (frame)
		frame_get(frame);
	pagetable_install(to, pte_copy(pte_get(entry)));
	return frame != NULL;
}

/* One of the roots that share a table no longer does. */
static void sharer_left(struct frame *table)
{
	if (table->refs == 2)
		tables_shared--;
	frame_put(table);
}

int table_unshare(struct mm *mm, uaddr_t address)
{
	struct root_entry *slot = slot_of(mm, address), fresh;
	struct frame *own;

	if (!tables_shared || !table_is_shared(slot))
		return 0;
	own = pagetable_table_new();
	if (!own)
		return -ENOMEM;
	slot_set(&fresh, own);
	for_each_entry(mm, base_of(address), slot_table(slot), slot_table(&fresh), copy_entry);
	sharer_left(slot_frame(slot));
	slot_share(slot, &fresh);
	return 0;
}

bool table_shared(struct mm *mm, uaddr_t address)
{
	return tables_shared && table_is_shared(slot_of(mm, address));
}

int tables_unshare(struct mm *mm, uaddr_t start, uaddr_t end)
{
	int error = 0;

	for (; tables_shared && !error && start < end; start = pagetable_next(start)) {
		error = table_unshare(mm, start);
		interrupt_window();
	}
	return error;
}

int tables_unshare_everywhere(void)
{
	struct mm *mm;
	int error = 0;

	list_for_each_entry(mm, &mm_list, all)
		if (!error)
			error = tables_unshare(mm, PAGE_SIZE, USER_END);
	return error;
}

static void table_leave(struct mm *mm, struct root_entry *slot)
{
	struct frame *frame = slot_frame(slot);

	mm_resident_less(mm, frame->private);
	mm->table_pages--;
	sharer_left(frame);
	slot_clear(slot);
}

void tables_leave(struct vma *vma)
{
	for (uaddr_t address = vma->start; tables_shared && address < vma->end; address = pagetable_next(address)) {
		struct root_entry *slot = slot_of(vma->mm, address);

		if (table_is_shared(slot))
			table_leave(vma->mm, slot);
	}
}

void table_lost(struct mm *mm, uaddr_t address, u32 frames)
{
	const struct root_entry *slot = slot_of(mm, address);
	struct mm *sharer;

	if (!tables_shared || !table_is_shared(slot)) {
		mm_resident_less(mm, frames);
		return;
	}
	slot_frame(slot)->private -= (u16)frames;
	list_for_each_entry(sharer, &mm_list, all)
		if (slot_same(slot_of(sharer, address), slot))
			mm_resident_less(sharer, frames);
}
