/*
 * Making cached translations go: what mm/ calls after it changed the tree. The
 * policies tlb.flush and tlb.cutoff decide how.
 */
#ifndef FLUSH_H
#define FLUSH_H

#include <types.h>

struct mm;

struct flush_operations {
	void (*page)(struct mm *mm, uaddr_t address);
	void (*range)(struct mm *mm, uaddr_t start, uaddr_t end);       /* page-aligned, end not included */
	void (*whole)(struct mm *mm);
	void (*last)(struct mm *mm);                            /* mm ends: its areas are still there */
};

extern const struct flush_operations *flush;    /* bound by tlb.flush */
extern u32 flush_cutoff;                        /* pages: a longer range renews the context. ~0: never */
extern u64 flush_pages;                         /* pages flushed one by one */
extern u64 flush_cutoffs;                       /* ranges that the cutoff turned into a new context */
/* Ranges flushed by their size in pages; the last counts all that are as large or larger. */
#define FLUSH_SIZES 1025u
extern u32 flush_sizes[FLUSH_SIZES];

/* What comes before a range's pages. True: nothing of it is cached, or its address space has got a new context. */
bool flush_range_whole(struct mm *mm, uaddr_t start, uaddr_t end);
/* Page by page, where there is a page table: the plain range flush, which the operations share. */
void flush_range_searching(struct mm *mm, uaddr_t start, uaddr_t end);

#endif
