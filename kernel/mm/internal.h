/* What the files of mm/ share. */
#ifndef MM_INTERNAL_H
#define MM_INTERNAL_H

#include <mm.h>
#include <pagetable.h>

#define AREAS_MAX 65536u        /* of one address space */
#define AREAS_WALKED 32u        /* among so few, room is found by looking at one after the other */
#define STACK_GAP (256u * PAGE_SIZE)    /* between a growing stack and what lies below it */
#define MMAP_TOP  (USER_STACK_TOP - 0x08000000u)        /* areas are placed downwards from here */

/* The page that an area shows at an address: a file's, or (VM_DEVICE) of physical addresses. */
static inline u32 vma_page(const struct vma *vma, uaddr_t address)
{
	return vma->first_page + ((address - vma->start) >> PAGE_SHIFT);
}

/* area.c */
struct vma *vma_new(struct mm *mm, uaddr_t start, uaddr_t end, u32 flags);
struct vma *vma_copy(const struct vma *vma);    /* not in any tree; references taken. NULL: no memory */
void vma_link(struct vma *vma);                 /* into its mm and its inode's mappings */
void vma_unlink(struct vma *vma);
void vma_free(struct vma *vma);                 /* unlinked; drops references */
int vma_split(struct vma *vma, uaddr_t address);    /* vma keeps the part below; 0 or -ENOMEM */
/* Joins vma with its neighbours where they are one; the area that holds it then. */
struct vma *vma_merge(struct vma *vma);
/* Splits so that areas begin at start and end at end; 0 or -ENOMEM. */
int areas_cut(struct mm *mm, uaddr_t start, uaddr_t end);
/* Sets and clears flags of the areas in [start, end), cutting them as needed; -EINVAL where one may not have them. */
int areas_mark(struct mm *mm, uaddr_t start, uaddr_t end, u32 set, u32 clear);
/* All of [start, end) lies in areas. */
bool areas_cover(struct mm *mm, uaddr_t start, uaddr_t end);
bool range_free(struct mm *mm, uaddr_t start, uaddr_t end);
/* An address for size bytes, near the hint if that is free; 0: none. */
uaddr_t area_place(struct mm *mm, uaddr_t hint, u32 size);

/* zap.c */
/* Removes the pages of [start, end) of one area: translations flushed, frames released. Bound by pte.update. */
extern void (*zap_range)(struct vma *vma, uaddr_t start, uaddr_t end);
/* Without flushing: nothing of it is cached any more. */
void zap_unflushed(struct vma *vma, uaddr_t start, uaddr_t end);
/* Frees tables between start and end that no area needs any more. */
void tables_trim(struct mm *mm, uaddr_t start, uaddr_t end);

/* shared_tables.c */
/* fork: the child has, or now gets, the parent's own table for the address (or the parent has none). False: copy it. */
bool table_share(struct mm *parent, struct mm *child, uaddr_t address);
/* Before entries of [start, end) change: the address space has their tables alone. 0 or -ENOMEM. */
int tables_unshare(struct mm *mm, uaddr_t start, uaddr_t end);
/* An address space that ends leaves those tables of an area that others have too. */
void tables_leave(struct vma *vma);
/* Entries for so many frames have left the table of an address, for all who have it. */
void table_lost(struct mm *mm, uaddr_t address, u32 frames);

/* fault.c */
extern struct frame *zero_frame;
/* The entry with which an area maps a frame; writable: now, not only by right. */
pte_t vma_pte(const struct vma *vma, paddr_t pa, bool writable);

/* oom.c: kills a process so that memory comes back. True: try again. */
bool oom_kill(void);

/* lock.c: the caller may lock so many more pages. */
bool mm_may_lock(struct mm *mm, u32 pages);

/* map.c */
u32 pages_mapped(struct mm *mm, uaddr_t start, uaddr_t end);    /* pages of areas in a range */
void areas_remove(struct mm *mm, uaddr_t start, uaddr_t end); /* areas that begin and end at the bounds, with their pages */
bool range_ok(uaddr_t address, u32 size);   /* page-aligned start, end within user space, size not 0 */

#endif
