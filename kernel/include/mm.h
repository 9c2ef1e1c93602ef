/*
 * Address spaces: areas (struct vma), the page-table tree, faults, and the calls of the mmap family. The tree holds
 * the mappings; TLB and hash table are caches of it (mmu.h).
 */
#ifndef MM_H
#define MM_H
#include <abi/mman.h>
#include <arch/context.h>
#include <deferred.h>
#include <frame.h>
#include <list.h>
#include <outside.h>
#include <rbtree.h>
#include <shootdown.h>
#include <types.h>

struct file;
struct inode;
struct pte;
struct regs;
struct root_entry;
struct text;

/* struct vma's flags. The first three equal PROT_*. */
#define VM_READ      0x001u
#define VM_WRITE     0x002u
#define VM_EXEC      0x004u
#define VM_PROT      0x007u
#define VM_MAY_READ  0x010u     /* what mprotect may permit */
#define VM_MAY_WRITE 0x020u
#define VM_MAY_EXEC  0x040u
#define VM_SHARED    0x080u
#define VM_GROWSDOWN 0x100u
#define VM_STACK     0x400u     /* the initial stack: /proc/<pid>/maps says [stack] */
#define VM_HEAP      0x800u     /* the heap, which brk moves */
#define VM_DONTFORK  0x1000u    /* madvise */
#define VM_WIPEONFORK 0x2000u
#define VM_LOCKED    0x4000u    /* mlock; not inherited by fork */
#define VM_DONTDUMP  0x8000u    /* madvise */
/* What it maps, and so which operations it has; neither: memory without an object. */
#define VM_DEVICE    0x10000u   /* physical pages from first_page on, no frames */
#define VM_OBJECT    0x20000u   /* the pages of an inode from first_page on */
#define VM_KIND      (VM_DEVICE | VM_OBJECT)
#define VM_ONFAULT   0x80000u   /* with VM_LOCKED: pages are not faulted in beforehand (mlock2, mlockall) */
#define VM_LOCK_MASK (VM_LOCKED | VM_ONFAULT)
#define VM_TOLD      0x40000u   /* with VM_SHARED: its operation `written` is told which pages are dirty */

enum mm_access { MM_READ = VM_READ, MM_WRITE = VM_WRITE, MM_EXECUTE = VM_EXEC };

/* An area: the pages of [start, end), with the same permissions and the same object. */
struct vma {
	struct rb_node node;            /* in mm->areas, by address */
	struct list_head mapping;       /* in inode->mappings, if it maps a file */
	struct mm *mm;
	uaddr_t start, end;
	uaddr_t first, last;            /* bounds of the node's subtree */
	uaddr_t room;                       /* the largest gap in the subtree, unless the node is stale */
	u32 flags;
	struct file *file;              /* NULL: anonymous. Holds a reference */
	struct inode *inode;            /* the object that is mapped; NULL: none */
	u32 first_page;                 /* the page number at start: in the file, or (VM_DEVICE) physical */
};

/*
 * What the owner of mapped pages does for an area. Only areas with a VM_KIND have operations. An operation may sleep,
 * unless it says otherwise: areas may change meanwhile.
 */
struct area_operations {
	/*
	 * Devices: enters the page of an address in the tree; -EACCES: the access is a fetch. Does not sleep. NULL: the
	 * area has frames, by fault().
	 */
	int (*install)(const struct vma *vma, struct pte *entry, uaddr_t address, enum mm_access access);
	/*
	 * The frame of a page for a fault, without a reference: its cache line is only just being fetched. ERR_PTR:
	 * -ENXIO (SIGBUS); -ENOMEM; -EAGAIN after it has slept: the fault is served again from its beginning.
	 */
	struct frame *(*fault)(const struct vma *vma, u32 page);
	/* The same if the page is in memory, else NULL. Does not sleep, and needs no kernel lock (outside.h). */
	struct frame *(*present)(const struct vma *vma, u32 page);
	/*
	 * VM_TOLD: a program writes the page of a shared area for the first time since it was mapped, or since
	 * mm_clean_inode(). Does not sleep. Without the flag pages are writable from their first fault on.
	 */
	void (*written)(const struct vma *vma, u32 page);
	int (*remove)(const struct vma *vma, u64 from, u64 to);         /* frees pages of a shared area: bytes */
	int (*synchronise)(const struct vma *vma, uaddr_t start, uaddr_t end);  /* msync of a shared area */
	char *(*name)(const struct vma *vma, char *buffer, size_t size); /* NULL: it has none */
	void (*copied)(struct vma *copy);                               /* by fork, or a split: takes references */
	void (*release)(struct vma *vma);
};
extern const struct area_operations *area_kinds[VM_KIND / VM_DEVICE];   /* fs/area.c */
static inline const struct area_operations *area_of(const struct vma *vma)
{
	return area_kinds[(vma->flags & VM_KIND) / VM_DEVICE];
}

/* What files do for areas that do not map one yet, and for the program that runs (fs/area.c). */
struct mm_files {
	/* Attaches what a new area maps: a file from a page on; NULL: shared memory without a file. */
	int (*attach)(struct vma *vma, struct file *file, u32 page);
	struct file *(*program_held)(struct file *file);        /* another reference, which denies writing too */
	void (*program_released)(struct file *file);
};
extern const struct mm_files mm_files;

#define AREAS_MAX 65536u        /* of one address space */

/* What a child of fork gets unchanged: the heap, the limits, and where exec has put what. */
struct mm_program {
	uaddr_t brk_start, brk;         /* heap; brk_start is page-aligned */
	uaddr_t stack_limit;            /* bytes that a growing stack may take; RLIMIT_STACK at exec */
	uaddr_t address_limit;          /* most bytes of all areas (RLIMIT_AS); ~0: no limit */
	uaddr_t data_limit;             /* bytes of heap; RLIMIT_DATA */
	bool dumpable;                  /* may leave a core file, and be traced by its user, not only the superuser */
	/* For /proc/<pid>. */
	uaddr_t code_start, code_end, data_start, data_end;
	uaddr_t stack_start, arguments_start, arguments_end, environment_start, environment_end;
	u32 auxv[48], auxv_count;
};

struct mm {
	struct list_head all;           /* every address space */
	u32 refs;
	u32 number;                     /* tells address spaces apart; exec gives the process a new one */
	struct root_entry *root;        /* the page-table tree's root, one page */
	struct mm_context context;      /* its number in hardware (context.h) */
	struct rb_root areas;
	struct vma *last;               /* the area found last */
	u32 area_count;
	struct list_head removals;      /* calls that remove areas in parts (map.c) */
	u32 lock_future;                /* mlockall: bits of VM_LOCK_MASK for new areas */
	bool unflushed;                 /* it has ended, and each page is flushed when it leaves the tree */
	u32 total_pages;                /* in areas */
	u32 resident_pages;             /* mapped frames */
	u32 resident_peak;              /* the most before the last decrease: mm_resident_peak() */
	u32 table_pages;                /* frames of the tree */
	struct mm_program program;
	enum shootdown_reason flush_reason;     /* why its cached translations are flushed now (flush.h) */
	struct mm_flushes flushes;      /* several processors (shootdown.h) */
	struct file *executable;        /* holds a reference, and denies writing (inode_deny_write) */
	struct deferred ending;         /* nobody uses it any more */
};

/* The most frames that were ever mapped at once. */
static inline u32 mm_resident_peak(const struct mm *mm)
{
	return mm->resident_pages > mm->resident_peak ? mm->resident_pages : mm->resident_peak;
}

/* The install operation of areas of devices. */
int device_page_install(const struct vma *vma, struct pte *entry, uaddr_t address, enum mm_access access);

/* For core files. */
bool vma_has_own_pages(const struct vma *vma);          /* pages that no file has: they were written */
/* The frame at an address, with a reference, if it is in memory; NULL: the page reads as zeros, or is unmapped. */
struct frame *mm_frame_present(struct mm *mm, uaddr_t address);

struct mm *mm_create(void);                     /* empty, one reference; NULL: no memory */
static inline struct mm *mm_get(struct mm *mm)
{
	mm->refs++;
	outside_settle();       /* with a second user, faults need the kernel lock */
	return mm;
}
void mm_put(struct mm *mm);                     /* the last one ends the address space, when current's call ends */
struct mm *mm_ending(struct deferred *work);    /* the address space whose end is this work; NULL: it is other work */
struct mm *mm_fork(struct mm *parent);          /* copy on write; NULL: no memory */
/* Policy icache.flush: makes a page visible to instruction fetch, before it is mapped in an executable area. */
extern void (*fetch_ready)(const struct vma *vma, struct frame *frame);
/* A fault in an area with one of these flags may have to interrupt other processors, so it needs the kernel lock. */
extern u32 fetch_asks_others;
/*
 * A program has fetched from a page whose permission is withheld: makes the page ready and permits it. False: that is
 * not why the fetch faulted.
 */
bool fetch_permit(struct mm *mm, uaddr_t address);
/* Policy fork.tables: whether a child shares the page table that begins at base; NULL: it shares none. */
extern bool (*fork_shares)(struct mm *parent, uaddr_t base);
extern u32 tables_shared;                       /* tables that several address spaces share now */
extern u64 table_shares;                        /* how often a fork has shared one */
int tables_unshare_everywhere(void);            /* gives every address space its own tables; 0 or -ENOMEM */
/* Every address space. */
extern struct list_head mm_list;        /* of struct mm, by all */
void mm_for_each(void (*function)(struct mm *mm));

/* Areas. */
struct vma *mm_find(struct mm *mm, uaddr_t address);        /* the first area that ends above address */
struct vma *mm_first(struct mm *mm);
/* Every area, where others may run after each, and may change the areas that follow. */
#define for_each_area_meanwhile(vma, mm)                                                                     \
	for (uaddr_t next_ = 0; (vma = mm_find(mm, next_)) && (next_ = vma->end, true); preemption_point())
struct vma *mm_next(struct vma *vma);
bool areas_surveyed_right(struct mm *mm);               /* for the invariant checker */

/*
 * The system calls' work on an address space. mm_map: file may be NULL with MAP_ANONYMOUS; takes its own reference;
 * page is the offset in pages. Returns the address or a negative errno (IS_ERR_VALUE).
 */
#define IS_ERR_VALUE(x) ((uaddr_t)(x) >= (uaddr_t)-4095)
uaddr_t mm_map(struct mm *mm, uaddr_t address, uaddr_t size, u32 prot, u32 flags, struct file *file, u32 page);
int mm_unmap(struct mm *mm, uaddr_t address, uaddr_t size);
int mm_unmap_in_parts(struct mm *mm, uaddr_t address, uaddr_t size);       /* other threads may run between two parts */
int mm_protect(struct mm *mm, uaddr_t address, uaddr_t size, u32 prot);
uaddr_t mm_remap(struct mm *mm, uaddr_t old, uaddr_t old_size, uaddr_t new_size, u32 flags, uaddr_t new_address);
int mm_sync(struct mm *mm, uaddr_t address, uaddr_t size, u32 flags);
int mm_advise(struct mm *mm, uaddr_t address, uaddr_t size, u32 advice);
/* Other tasks run meanwhile, so that areas may change. */
u32 mm_locked_pages(struct mm *mm);
int mm_incore(struct mm *mm, uaddr_t address, uaddr_t size, u8 *user_vector);
/* Sets the break; returns the new one, or the old one on failure. mm_brk_init is for exec. */
uaddr_t mm_brk(struct mm *mm, uaddr_t address);
void mm_brk_init(struct mm *mm, uaddr_t start);
/* For exec: creates the initial stack area of `size` bytes below top, growing down. */
int mm_stack_init(struct mm *mm, uaddr_t top, uaddr_t size);

/* Faults in one page as if user code had touched it: 0, -EFAULT (SIGSEGV), -ENXIO (SIGBUS), -ENOMEM. */
int mm_fault(struct mm *mm, uaddr_t address, enum mm_access access);
/*
 * The same for a program's fault, without the kernel lock (outside.h). False: it was not served, and needs the lock.
 * With check=on it takes the lock when it has served the fault.
 */
bool mm_fault_outside(struct mm *mm, uaddr_t address, enum mm_access access);
/*
 * For WORK_MEMORY, before the return to user mode: if the call has failed with ENOMEM, kills a process to get memory
 * back, and has the call repeated. A call that fails so has changed nothing.
 */
void call_without_memory(struct regs *regs);
extern u32 oom_ended;                   /* processes that were killed for their memory and have ended */
/* The frame behind an address, faulted in, with a reference. */
int mm_frame(struct mm *mm, uaddr_t address, enum mm_access access, struct frame **out);
/*
 * Notes that a call holds such a reference while it copies between the frame and its own program. A fault of the copy
 * may bring a sweep of check=on, which counts the notes among the frame's owners.
 */
struct frame_note {
	struct list_head link;
	const struct frame *frame;
};
void frame_note_begin(struct frame_note *note, const struct frame *frame);
void frame_note_end(struct frame_note *note);
u32 frame_notes(const struct frame *frame);     /* how many there are for it */
/* The word at an address, if its page is in memory. For interrupt handlers, which must not fault. */
bool mm_peek(struct mm *mm, uaddr_t address, u32 *word);
/* As mm_frame(), for a page of a private area that need not be writable: the space's own frame, copied if need be. */
int mm_frame_own(struct mm *mm, uaddr_t address, struct frame **out);
/* A debugger's write, also to pages that the program itself may not write (mm/foreign.c): 0 or -EFAULT. */
int mm_poke(struct mm *mm, uaddr_t address, const void *from, size_t n);
/* Key for a futex: the file, page and offset of a shared page, or (mm, address). */
struct futex_key {
	const void *object;             /* address space or inode */
	/*
	 * Of an inode; NULL and 0 otherwise. A key holds no reference: the file may go, and another one come to the
	 * same place in memory, but it never has the same number.
	 */
	const struct filesystem *fs;
	u64 number;
	u32 page, offset;
};
/* Whether the kernel is to write the word. */
enum futex_access { FUTEX_READ, FUTEX_WRITE };
/*
 * 0; -EINVAL: the address is not that of a word; -EFAULT. A private word need not be mapped, since only its address
 * counts; a word of a device's page is never written.
 */
int mm_futex_key(struct mm *mm, uaddr_t address, bool is_private, enum futex_access access, struct futex_key *key);

/* Whether some mapping may write to the file, now or after an mprotect. */
bool mm_may_write_inode(const struct inode *inode);

/* The text of /proc/<pid>/maps: the caller holds a reference to mm, since others run between two lines. */
void mm_show_maps(struct mm *mm, struct text *text);
void mm_show_meminfo(struct text *text);

/* Called when frames can be allocated. */
void mm_init(void);
/* Registers the files of /proc of mm, the architecture and the policies. */
void mm_proc_init(void);

#endif
