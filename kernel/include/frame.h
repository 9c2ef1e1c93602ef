/*
 * Physical page frames: a buddy allocator over the RAM that the device tree
 * names. Every frame has one struct frame; its reference count says how many
 * owners (page-table entries, page caches, kernel objects) hold it.
 */
#ifndef FRAME_H
#define FRAME_H
#include <arch/cpu.h>
#include <arch/layout.h>
#include <list.h>
#include <outside.h>
#include <types.h>

#define PAGE_SHIFT 12
#define PAGE_SIZE  4096u
#define PAGE_MASK  (~(vaddr_t)(PAGE_SIZE - 1))
/* Numbers and counts of pages have 32 bits, whatever an address has. */
static inline u32 page_number(vaddr_t address) { return (u32)(address >> PAGE_SHIFT); }
static inline u32 page_count(vaddr_t size) { return (u32)(size >> PAGE_SHIFT); }

#define FRAME_ORDER_MAX 10              /* 4 MB */

/* The use of a frame, for the counts of /proc/meminfo and for the checker. */
enum frame_use {
	FRAME_FREE,
	FRAME_RESERVED,                 /* kernel image, device tree, hash table: never allocated */
	FRAME_KERNEL,                   /* kmalloc, stacks, anything of the kernel's own */
	FRAME_PAGE_TABLE,
	FRAME_ANONYMOUS,                /* memory of programs */
	FRAME_CACHE,                    /* a page of a file, */
	FRAME_DIRTY,                    /* or one that has changed since it was written to the file's medium */
	FRAME_USES
};

struct frame {
	struct list_head link;          /* in a free list, or the owner's */
	u32 refs;                       /* its owners; each user PTE that maps it is one */
	u8 order;                       /* of the block that starts here */
	u8 use;                         /* enum frame_use */
	u16 private;                    /* for the owner's use */
	u8 unused[2 * sizeof(void *) - 8];
};

/* A power of two, so that converting between frames and numbers is a shift. */
_Static_assert((sizeof(struct frame) & (sizeof(struct frame) - 1)) == 0, "the size of struct frame");

extern struct frame *frames;            /* index: physical frame number */
extern u32 frame_count;                 /* frames of RAM */

static inline u32 frame_number(const struct frame *frame) { return (u32)(frame - frames); }
static inline paddr_t frame_pa(const struct frame *frame) { return (paddr_t)frame_number(frame) << PAGE_SHIFT; }
static inline void *frame_kva(const struct frame *frame) { return (void *)(KERNEL_BASE + frame_pa(frame)); }
static inline struct frame *pa_frame(paddr_t pa) { return &frames[pa >> PAGE_SHIFT]; }
static inline paddr_t kva_pa(const void *kva) { return (vaddr_t)kva - KERNEL_BASE; }
static inline void *pa_kva(paddr_t pa) { return (void *)(pa + KERNEL_BASE); }
static inline struct frame *kva_frame(const void *kva) { return pa_frame(kva_pa(kva)); }

/*
 * One frame (or 2^order, physically adjacent) with one reference; NULL when
 * there is none left. Never sleeps.
 */
struct frame *frame_alloc(enum frame_use use);
struct frame *frame_alloc_order(enum frame_use use, unsigned order);
/* The same, zeroed. Policy idle.clear binds it. */
extern struct frame *(*frame_alloc_zeroed)(enum frame_use use);
struct frame *frame_alloc_zeroed_now(enum frame_use use);       /* clears the frame now */
/* Counts of owners change by a reservation where other processors may change them at the same time (outside.h). */
static inline struct frame *frame_get(struct frame *frame)
{
	if (outside_bound())
		arch_add(&frame->refs, 1);
	else
		frame->refs++;
	return frame;
}
static inline bool frame_of_file(const struct frame *frame) { return frame->use >= FRAME_CACHE; }
void frame_set_dirty(struct frame *frame, bool dirty);  /* of a file */
void frame_free(struct frame *frame);           /* frees a block without references */
static inline void frame_put(struct frame *frame)       /* the last reference frees the block */
{
	if ((outside_bound() ? arch_add(&frame->refs, ~0u) : frame->refs--) <= 1)
		frame_free(frame);
}

void frame_clear(struct frame *frame);          /* zeroes one page */

/*
 * Free frames that were cleared ahead of use (mm/cleared.c). They count as free, and return to the allocator when it
 * has no others.
 */
struct frame *frame_set_aside(void);            /* a free frame, for frame_list_cleared or frame_return; NULL: none */
void frame_return(struct frame *frame);         /* back to the allocator */
void frame_list_cleared(struct frame *frame);   /* with interrupts on or off */
struct frame *frame_alloc_cleared(enum frame_use use);  /* from the list, else cleared now */
void frames_return_cleared(void);               /* returns the whole list to the allocator */
extern u64 frames_cleared_used;
/* Counts a frame taken from the list as allocated. NULL: failalloc lets this allocation fail. */
struct frame *frame_account(struct frame *frame, enum frame_use use);
void frame_copy(struct frame *to, const struct frame *from);
extern void *(*frame_copy_block)(void *to, const void *from, size_t n);    /* copies a frame; bound by policy copy */

struct frame_statistics {
	u32 total;                      /* frames of RAM */
	u32 use[FRAME_USES];            /* frames by use; they sum to total */
	u64 allocations, frees, failures;
};
extern struct frame_statistics frame_counts;
void frame_statistics(struct frame_statistics *out);
static inline u32 frames_free(void) { return frame_counts.use[FRAME_FREE]; }

/* Objects that outlive their creator (files, messages) must leave 1/FRAMES_RESERVE of RAM free for programs. */
#define FRAMES_RESERVE 16u
static inline bool frames_short(void) { return frames_free() < frame_count / FRAMES_RESERVE; }

/*
 * Whether this allocation (frame or kmalloc) is to fail. With failalloc=<n> on the command line that is the n-th one
 * after init started; with n written to /proc/failalloc, the n-th one after that.
 *
 * Only allocations beyond a bound, which are rare, call this function. failalloc_set() lowers the bounds
 * (frame_order_plain and kmalloc_plain), so that every allocation calls it.
 */
bool failalloc_hit(void);
extern int frame_order_plain;
extern u64 failalloc_count;             /* allocations seen: /proc/failalloc */
extern u64 failalloc_before;            /* allocations before the count was last reset */
void failalloc_set(u32 n);              /* resets the count; 0: none fails */

/* At boot: ranges of physical memory that the allocator must not use, in rising order. */
struct frame_range {
	paddr_t start, end;
};
#define FRAMES_LEAST 256u               /* free frames that the kernel needs to start */
void frames_init(const struct frame_range *reserved, unsigned ranges);
/*
 * Gives a reserved range that is no longer needed (the initramfs, once unpacked) to the allocator: whole pages within
 * it.
 */
void frames_release(paddr_t start, paddr_t end);

#endif
