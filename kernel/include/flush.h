/*
 * Flushing cached translations: mm/ calls these after it changed the tree. The policies tlb.flush and tlb.cutoff bind
 * them.
 */
#ifndef FLUSH_H
#define FLUSH_H
#include <types.h>

struct mm;

/* The operation that changes translations. Whoever flushes a range sets it in the address space. */
enum shootdown_reason {
	SHOOTDOWN_COPY,                 /* a write to a page that several share, or that becomes writable */
	SHOOTDOWN_MUNMAP,
	SHOOTDOWN_MADVISE,
	SHOOTDOWN_MPROTECT,
	SHOOTDOWN_MREMAP,
	SHOOTDOWN_FORK,
	SHOOTDOWN_EXIT,
	SHOOTDOWN_TRUNCATE,
	SHOOTDOWN_RECLAIM,              /* the idle task gives it another context (policy idle.reclaim) */
	SHOOTDOWN_PIPE,                 /* buffers of the kernel's own (policy kernel.buffers): of a pipe, */
	SHOOTDOWN_EXEC,                 /* of execve's arguments */
	SHOOTDOWN_REUSE,                /* before pages or frames are used again whose flush was not waited for */
	SHOOTDOWN_MAP,                  /* a page of a kernel's buffer (as PIPE, EXEC) is mapped */
	SHOOTDOWN_REASONS
};

struct flush_operations {
	void (*page)(struct mm *mm, uaddr_t address);
	void (*range)(struct mm *mm, uaddr_t start, uaddr_t end);       /* page-aligned, end not included */
	void (*whole)(struct mm *mm);
	void (*last)(struct mm *mm);                            /* mm ends, but still has its areas */
	/*
	 * Called before entries move: makes them invalid, so that no other processor loads them again between the flush
	 * and the move. With one processor it does nothing.
	 */
	void (*hide)(struct mm *mm, uaddr_t start, uaddr_t end);
	bool whole_is_short;                                    /* whatever is mapped, whole() takes the same time */
};

extern const struct flush_operations *flush;    /* bound by tlb.flush */
extern u32 flush_cutoff;                        /* pages: a longer range renews the context. ~0: never */
extern bool flush_absent;                       /* bound by range.flush: pages without a page table are flushed too */
extern u64 flush_pages;                         /* pages flushed one by one */
extern u64 flush_pages_absent;                  /* those of them that had no page table */
extern u64 flush_cutoffs;                       /* ranges that the cutoff turned into a new context */
/* Counts of flushed ranges by size in pages; the last one includes all larger sizes. */
#define FLUSH_SIZES 1025u
extern u32 flush_sizes[FLUSH_SIZES];

/*
 * Called before a range is flushed page by page. True: that is not needed, because nothing of it is cached or its
 * address space got a new context.
 */
bool flush_range_whole(struct mm *mm, uaddr_t start, uaddr_t end);
/*
 * Flushes page by page, where there is a page table or policy range.flush=every: the plain range flush, which several
 * operations use.
 */
void flush_range_searching(struct mm *mm, uaddr_t start, uaddr_t end);
/* Its second part, page by page: after flush_range_whole() has returned false. */
void flush_range_found(struct mm *mm, uaddr_t start, uaddr_t end);

#endif
