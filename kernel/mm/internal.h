/* What the files of mm/ share. */
#ifndef MM_INTERNAL_H
#define MM_INTERNAL_H
#include <lib.h>
#include <mm.h>
#include <outside.h>
#include <pagetable.h>
#include <smp.h>

#define AREAS_WALKED 32u        /* up to so many, room is found by looking at each */
#define STACK_GAP (256u * PAGE_SIZE)    /* kept free below a growing stack */
#define MMAP_TOP  (USER_STACK_TOP - 0x08000000u)        /* areas are placed downwards from here */

/* The page number at an address of an area: in its file, or (VM_DEVICE) of physical addresses. */
static inline u32 vma_page(const struct vma *vma, uaddr_t address)
{
	return vma->first_page + page_count(address - vma->start);
}

/* The areas of an address space that reach into [start, end). Opens windows; nobody else runs meanwhile. */
#define for_each_area_window(vma, mm, from, to)                                                             \
	for (u32 areas_ = (vma = mm_find(mm, from), 0);                                                      \
	     vma && vma->start < (to) && (interrupt_window_at(++areas_), true); vma = mm_next(vma))

/* area.c */
/*
 * What a long call does to [start, end) of an area, or to its first part. Returns the end of what is done, or an error.
 * It may sleep.
 */
typedef uaddr_t area_act(struct vma *vma, uaddr_t start, uaddr_t end, const void *how);
enum area_holes { HOLES_END, HOLES_ARE_TOLD };
/*
 * Acts on each area of [address, end) in turn, until one refuses. Other tasks run between two parts, and may change the
 * areas. -ENOMEM: part of the range is not mapped. HOLES_END: the walk ends there; HOLES_ARE_TOLD: it goes on to `end`.
 */
int areas_walk(struct mm *mm, uaddr_t address, uaddr_t end, enum area_holes holes, area_act *act, const void *how);
/* The area found last, if it has the address; else NULL. */
static inline struct vma *area_last(const struct mm *mm, uaddr_t address)
{
	struct vma *last = mm->last;

	return last && last->start <= address && address < last->end ? last : NULL;
}
/* Whether pages of a shared area are writable from their first fault on: nobody need know who writes them. */
static inline bool area_writable_at_once(const struct vma *vma)
{
	const u32 shared_writable = VM_SHARED | VM_WRITE;

	return (vma->flags & (shared_writable | VM_TOLD)) == shared_writable;
}
struct vma *vma_new(struct mm *mm, uaddr_t start, uaddr_t end, u32 flags);
struct vma *vma_copy(const struct vma *vma);    /* in no tree yet; takes references. NULL: no memory */
void vma_link(struct vma *vma);                 /* adds it to its mm and its inode's mappings */
void vma_unlink(struct vma *vma);
void vma_free(struct vma *vma);                 /* after vma_unlink(); drops references */
int vma_split(struct vma *vma, uaddr_t address);    /* vma keeps the part below; 0 or -ENOMEM */
/* Joins vma with the neighbours that can_join() accepts. Returns the area that now contains it. */
struct vma *vma_merge(struct vma *vma);
/* Splits areas at start and at end; 0 or -ENOMEM. */
int areas_cut(struct mm *mm, uaddr_t start, uaddr_t end);
/*
 * Sets and clears flags of the areas in [start, end), splitting them as needed. -EINVAL: an area may not have them.
 * Pages of devices are not locked.
 */
int areas_mark(struct mm *mm, uaddr_t start, uaddr_t end, u32 set, u32 clear);
/* The next step of a loop over areas that has visited `passed`. Other tasks may run first, and change areas. */
struct vma *area_after(struct vma *vma, u32 passed);
/* The end of the part of [start, end) that areas cover without a hole. Other tasks may run meanwhile. */
uaddr_t areas_cover_to(struct mm *mm, uaddr_t start, uaddr_t end);
bool range_free(struct mm *mm, uaddr_t start, uaddr_t end);
/* An address for size bytes, near the hint if that is free; 0: none. */
uaddr_t area_place(struct mm *mm, uaddr_t hint, uaddr_t size);

/*
 * The end of the part of [start, end) after which a long loop over pages lets others run: as many pages as take less
 * than a millisecond, or all that an absent table would have, if no page of that is flushed.
 */
#define PART_SIZE (256u * PAGE_SIZE)
static inline uaddr_t part_end(const struct mm *mm, uaddr_t start, uaddr_t end)
{
	uaddr_t stop = MIN(pagetable_next(start), end);

	return stop - start > PART_SIZE && (flush_absent || pagetable_find(mm->root, start)) ? start + PART_SIZE : stop;
}

/* policy/idle_clear.c: frames that a processor's list holds at most; the constant is enough to start a few programs. */
#define IDLE_CLEAR_MOST 256u
extern u32 idle_clear_most;

/* zap.c */
/* Removes the pages of [start, end) of one area: flushes translations, releases frames. Bound by pte.update. */
extern void (*zap_range)(struct vma *vma, uaddr_t start, uaddr_t end);
void zap_bind(void (*form)(struct vma *vma, uaddr_t start, uaddr_t end));
/*
 * policy/pte_update.c. With tlb.flush=search and no cutoff: whether the end of an address space and a fork flush each
 * page with the change of its entry, and not by a scan of all areas.
 */
extern bool flush_at_update;
bool flushes_at_update(void);
/* As zap_range(), of an address space that has ended and that nobody has flushed (mm.unflushed). */
extern void (*zap_ended)(struct vma *vma, uaddr_t start, uaddr_t end);
/* Flushes a page whose entry a fork has made read-only; fork_protected_all() after the last one. */
void fork_protected(struct mm *mm, uaddr_t address);
void fork_protected_all(struct mm *mm);
/*
 * The same, until others wait to run. Returns the end of what it removed. A caller that lets others run
 * looks up the area again.
 */
uaddr_t zap_part(struct vma *vma, uaddr_t start, uaddr_t end);
/* The same as zap_range() without flushing, for a range of which nothing is cached any more. */
void zap_unflushed(struct vma *vma, uaddr_t start, uaddr_t end);
/* Flushes what zap_range() would flush in all, if that is the whole address space. False: nothing is flushed. */
bool zap_flush_whole(struct vma *vma, uaddr_t start, uaddr_t end);
/* Frees page tables between start and end that no area needs any more. */
void tables_trim(struct mm *mm, uaddr_t start, uaddr_t end);

/* Fewer pages are resident from now on: records the peak first, which would be lost otherwise. */
static inline void mm_resident_less(struct mm *mm, u32 pages)
{
	mm->resident_peak = mm_resident_peak(mm);
	mm->resident_pages -= pages;
}

/* frame.c: the allocator's lock, which cleared.c takes for its lists too. */
extern struct spinlock frames_lock;
static inline void frames_lock_take(void)
{
	if (outside_bound())
		spin_lock(&frames_lock);
}
static inline void frames_lock_give(void)
{
	if (outside_bound())
		spin_unlock(&frames_lock);
}

/* shared_tables.c */
/*
 * For fork: true if the child shares the parent's table for the address, or the parent has none. False: copy the
 * entries.
 */
bool table_share(struct mm *parent, struct mm *child, uaddr_t address);
/* Whether other address spaces share the table of an address. */
bool table_shared(struct mm *mm, uaddr_t address);
/* Gives the address space its own copy of each shared table in [start, end), before entries change. 0 or -ENOMEM. */
int tables_unshare(struct mm *mm, uaddr_t start, uaddr_t end);
/* When an address space ends: leaves the shared tables of an area to the other sharers. */
void tables_leave(struct vma *vma);
/* So many frames left the table of an address: corrects the count of each address space that has the table. */
void table_lost(struct mm *mm, uaddr_t address, u32 frames);

/* Policy fault.around: maps the pages around a faulting page, before the fault is served. NULL: off. */
extern void (*fault_around)(struct mm *mm, uaddr_t address, bool outside);

/* fault.c */
/* Chooses who serves faults, by boot.check, shootdown_deferred, fault_around and tables_shared. */
void faults_bind(void);
extern struct frame *zero_frame;
/* The entry that maps a page in an area. writable: the entry may allow writing now, if the area does. */
pte_t vma_pte(const struct vma *vma, paddr_t pa, bool writable, bool device);

/* oom.c: kills a process to get memory back, and lets it end. True: try again. */
bool oom_kill(void);

/* lock.c: whether the caller may lock so many more pages. */
bool mm_may_lock(struct mm *mm, u32 pages);

/* map.c */
/*
 * A call that removes the areas of a range in parts: [start, at) is free or mapped anew, [at, end) is still to be
 * removed. Other tasks may run between two parts.
 */
struct removal {
	struct list_head link;          /* in mm->removals */
	uaddr_t start, at, end;
	bool replaces;                  /* a new area will cover the range: no other area may grow into it */
};
/* Whether two areas that meet at an address must stay apart: one is about to be removed. */
bool removal_keeps_apart(const struct mm *mm, uaddr_t address);
/* Whether an area may not grow down from `from` to `to`. */
bool removal_forbids_growth(const struct mm *mm, uaddr_t from, uaddr_t to);
/* Faults in the pages of a range, and leaves out pages that cannot be faulted in. */
void area_populate(struct mm *mm, uaddr_t start, uaddr_t end);

#endif
