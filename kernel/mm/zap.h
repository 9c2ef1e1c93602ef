/* Clearing entries of an address space's tree, for zap.c and the policy pte.update. */
#ifndef MM_ZAP_H
#define MM_ZAP_H
#include <frame.h>
#include <lib.h>
#include <window.h>

#include "internal.h"

/* Clears a valid entry; returns the number of frames that it held. */
typedef u32 zap_one(struct mm *mm, uaddr_t address, struct pte *entry, void *argument);

/* Gives up the reference of an entry that is cleared and flushed. */
static inline void frame_unmapped(struct mm *mm, struct frame *frame)
{
	if (shootdown_unseen(mm))
		frame_hold(frame);
	else
		frame_put(frame);
}

static inline u32 zap_entry(struct mm *mm, uaddr_t address, struct pte *entry, void *argument)
{
	pte_t pte = pte_get(entry);
	bool held = pte_has_frame(pte);

	(void)mm;
	(void)address;
	(void)argument;
	if (held)
		frame_put(pa_frame(pte_pa(pte)));
	pagetable_clear(entry);
	return held;
}

/*
 * Clears entries of one table, skipping empty cache lines, since most of a large area is empty. Returns the number of
 * frames that they held.
 */
static inline __attribute__((always_inline)) u32 zap_entries(struct mm *mm, uaddr_t address, struct pte *entry,
								      struct pte *last, zap_one *one, void *argument)
{
	u32 held = 0;

	while (entry < last) {
		struct pte *next = (struct pte *)ALIGN_DOWN((uaddr_t)(entry + PTE_LINE), PTE_LINE * sizeof(*entry));

		interrupt_window_at((uaddr_t)entry / sizeof(*entry));
		/* The first entry alone decides for most lines that are not empty. */
		if (next <= last && next == entry + PTE_LINE && pte_none(pte_get(entry)) && pte_line_none(entry)) {
			entry = next;
			address += PTE_LINE << PAGE_SHIFT;
			continue;
		}
		for (next = MIN(next, last); entry < next; entry++, address += PAGE_SIZE)
			if (!pte_none(pte_get(entry)))
				held += one(mm, address, entry, argument);
	}
	return held;
}

/*
 * Clears the entries of a range, table by table; an absent table is skipped in one step. Inlined, so that each `one`
 * gets a loop of its own.
 */
static inline __attribute__((always_inline)) void zap_walk(struct mm *mm, uaddr_t start, uaddr_t end, zap_one *one,
							   void *argument)
{
	while (start < end) {
		uaddr_t stop = MIN(pagetable_next(start), end);
		struct pte *entry = pagetable_find(mm->root, start);
		u32 held = 0;

		interrupt_window();
		if (entry)
			held = zap_entries(mm, start, entry, entry + ((stop - start) >> PAGE_SHIFT), one, argument);
		if (held)
			table_lost(mm, start, held);
		start = stop;
	}
}

#endif
