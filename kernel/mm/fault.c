/*
 * Page faults: demand paging, copy on write, growing stacks. What serves a fault:
 *
 *   mm_fault()          with the kernel lock: of a read fault_read(), else fault_locked()
 *   mm_fault_outside()  without it: fault_outside()
 *   fault_read()        the short form for the most frequent fault
 *   fault_locked()      fault_once(), repeated as long as a repetition can help
 *   fault_outside()     fault_once(), if the address space is this processor's own
 *   fault_once()        any fault, once
 *   fault_watched()     called by the first two if a check or a policy looks at each fault, and for address 0
 */
#include <arch.h>
#include <check.h>
#include <cpu.h>
#include <err.h>
#include <errno.h>
#include <flush.h>
#include <fs.h>
#include <lib.h>
#include <mmu.h>
#include <outside.h>
#include <smp.h>

#include "internal.h"

void (*fetch_ready)(const struct vma *vma, struct frame *frame);
struct frame *zero_frame;       /* what untouched anonymous memory shows */

pte_t vma_pte(const struct vma *vma, paddr_t pa, bool writable, bool device)
{
	enum pte_access access = writable && vma->flags & VM_WRITE ? PTE_READ_WRITE : PTE_READ;

	return pte_make(pa, vma->flags & VM_PROT ? access : PTE_NO_ACCESS, device);
}

/* Replaces and flushes a valid entry. replaced(): page_copied() for another frame, else page_made_writable(). */
CAUSE(fault) static void pte_replace(struct mm *mm, struct pte *entry, uaddr_t address, pte_t pte,
				     void (*replaced)(struct mm *mm, vaddr_t address, pte_t pte))
{
	pagetable_set(entry, pte);
	flush->page(mm, ALIGN_DOWN(address, PAGE_SIZE));
	replaced(mm, address, pte);
}

/* A frame for a private write, zeroed or a copy of the file's, without a reference as yet. NULL: no memory. */
NOINLINE CAUSE(fault) static struct frame *own_frame(const struct frame *of_file)
{
	struct frame *frame = of_file ? frame_alloc(FRAME_ANONYMOUS) : frame_alloc_zeroed(FRAME_ANONYMOUS);

	if (!frame)
		return NULL;
	if (of_file)
		frame_copy(frame, of_file);
	frame->refs = 0;
	return frame;
}

/* Tells the owner of a shared page that it is dirty. */
static inline void area_note_written(const struct vma *vma, uaddr_t address)
{
	if (vma->flags & VM_TOLD)
		area_of(vma)->written(vma, vma_page(vma, address));
}

/* A write to a read-only page: the only owner of a frame makes it writable; one of several owners gets a copy. */
CAUSE(fault) static int copy_on_write(struct vma *vma, struct pte *entry, uaddr_t address)
{
	struct frame *old = pa_frame(pte_pa(pte_get(entry))), *copy;

	if (vma->flags & VM_SHARED || (old->refs == 1 && old->use == FRAME_ANONYMOUS)) {
		if (vma->flags & VM_SHARED)
			area_note_written(vma, address);
		pte_replace(vma->mm, entry, address, vma_pte(vma, frame_pa(old), true, false), page_made_writable);
		return 0;
	}
	copy = old == zero_frame ? frame_alloc_zeroed(FRAME_ANONYMOUS) : frame_alloc(FRAME_ANONYMOUS);
	if (!copy)
		return -ENOMEM;
	if (old != zero_frame)
		frame_copy(copy, old);
	if (vma->flags & VM_EXEC)
		fetch_ready(vma, copy);
	pte_replace(vma->mm, entry, address, vma_pte(vma, frame_pa(copy), true, false), page_copied);
	frame_put(old);
	return 0;
}

/* Grows the stack area above the address down to it. NULL: not allowed. */
NOINLINE CAUSE(fault) static struct vma *grown_stack(struct vma *vma, uaddr_t start)
{
	struct mm *mm = vma->mm;
	struct rb_node *before = rb_prev(&vma->node);
	u32 pages = page_count(vma->start - start);

	if (!(vma->flags & VM_GROWSDOWN) || vma->end - start > mm->program.stack_limit || start < STACK_GAP ||
	    (before && rb_entry(before, struct vma, node)->end > start - STACK_GAP) ||
	    mm->total_pages + pages > mm->program.address_limit >> PAGE_SHIFT ||
	    removal_forbids_growth(mm, vma->start, start))
		return NULL;
	vma->start = start;
	rb_stale(&vma->node);
	mm->total_pages += pages;
	return vma;
}

/* The area of an address, after growing a stack if need be. NULL: none. */
CAUSE(fault) static inline __attribute__((always_inline)) struct vma *area_for(struct mm *mm, uaddr_t address)
{
	struct vma *vma = area_last(mm, address);

	if (vma)
		return vma;
	vma = mm_find(mm, address);
	return !vma || vma->start <= address ? vma : grown_stack(vma, ALIGN_DOWN(address, PAGE_SIZE));
}

/* Without growing a stack. NULL: none where a fault may be served without the kernel lock. */
CAUSE(fault) static inline __attribute__((always_inline)) struct vma *area_for_outside(struct mm *mm, uaddr_t address)
{
	struct vma *vma = mm_find(mm, address);

	if (!vma || vma->start > address)
		return NULL;
	return vma->flags & fetch_asks_others ? NULL : vma;
}

static bool access_is_allowed(const struct vma *vma, enum mm_access access)
{
	/* A page that may be read may be executed too: MMUs need not have an execute permission. */
	return vma->flags & (access & MM_WRITE ? VM_WRITE : VM_PROT);
}

/* Installs the first entry of a page. */
CAUSE(fault) static inline __attribute__((always_inline)) void page_install(struct mm *mm, struct pte *entry,
									    uaddr_t address,
									    struct frame *frame, enum pte_access access,
									    bool prefetch)
{
	paddr_t pa = frame_pa(frame);
	pte_t pte = pte_make(pa, access, false);

	mm->resident_pages++;
	pagetable_install(entry, pte);
	page_installed(mm, address, pte);
	/* The reference is taken last: the cache line of struct frame was touched before and arrives meanwhile. */
	frame_get(frame);
	/* The program is about to access it again. Not earlier: a barrier of the insertion would wait for it. */
	if (prefetch)
		arch_touch((char *)pa_kva(pa) + address % PAGE_SIZE);
}

/*
 * outside: without the kernel lock (outside.h). Then stacks do not grow, holes of files are not filled, and nobody else
 * is asked for anything: -EAGAIN, to be repeated with the lock.
 */
CAUSE(fault) static inline __attribute__((always_inline)) int fault_once(struct mm *mm, uaddr_t address,
									 enum mm_access access, bool outside)
{
	struct vma *vma = outside ? area_for_outside(mm, address) : area_for(mm, address);
	const u32 write = access & MM_WRITE;
	struct frame *frame;
	struct pte *entry;
	pte_t now;

	if (!vma)
		return outside ? -EAGAIN : -EFAULT;
	if (!access_is_allowed(vma, access))
		return -EACCES;
	entry = pagetable_own(mm->root, address);
	if (!entry) {
		entry = pagetable_make(mm, address);
		if (!entry)
			return -ENOMEM;
	}
	now = pte_get(entry);
	if (!pte_none(now)) {
		if (write && !pte_writable(now))
			return copy_on_write(vma, entry, address);
		return access == MM_EXECUTE && !pte_has_frame(now) ? -EACCES : 0;
	}
	frame = write ? NULL : zero_frame;
	if (vma->flags & VM_KIND) {
		const struct area_operations *owner = area_of(vma);

		if (owner->install)
			return owner->install(vma, entry, address, access);
		frame = (outside ? owner->present : owner->fault)(vma, vma_page(vma, address));
		if (outside && !frame)
			return -EAGAIN;
		if (IS_ERR(frame))
			return (int)PTR_ERR(frame);
	}
	if (write && vma->flags & VM_SHARED) {
		area_note_written(vma, address);
	} else if (write) {
		frame = own_frame(frame);
		if (!frame)
			return -ENOMEM;
	}
	if (vma->flags & VM_EXEC)
		fetch_ready(vma, frame);
	page_install(mm, entry, address, frame,
		     write || area_writable_at_once(vma) ? PTE_READ_WRITE : PTE_READ,
		     access != MM_EXECUTE);
	return 0;
}

CAUSE(fault) int device_page_install(const struct vma *vma, struct pte *entry, uaddr_t address, enum mm_access access)
{
	pte_t pte = vma_pte(vma, (paddr_t)vma_page(vma, address) << PAGE_SHIFT, true, true);

	if (access == MM_EXECUTE)
		return -EACCES;
	pagetable_install(entry, pte);
	page_installed(vma->mm, address, pte);
	return 0;
}

/*
 * oom_kill() and the owner of a page may sleep, and areas may change meanwhile, so the whole fault is repeated. An
 * allocation may fail although frames are free: by failalloc, or because another task freed some meanwhile. It may also
 * fail again: a frame that the idle task has begun to clear counts as free.
 */
NOINLINE CAUSE(fault) static int fault_locked(struct mm *mm, uaddr_t address, enum mm_access access)
{
	bool repeated = false;
	int error;

	while (error = fault_once(mm, address, access, false), unlikely(error == -EAGAIN || error == -ENOMEM)) {
		if (error == -ENOMEM && (repeated || !frames_free()) && !oom_kill())
			break;
		repeated = true;
	}
	return error;
}

/*
 * The most frequent fault: the first read of a page in the area that was found last. False: it is another one, and the
 * address space has not changed.
 */
CAUSE(fault) static inline __attribute__((always_inline)) bool fault_read(struct mm *mm, uaddr_t address)
{
	const u32 shared_writable = VM_SHARED | VM_WRITE;
	const struct vma *vma = area_last(mm, address);
	struct frame *frame = zero_frame;
	struct pte *entry;

	if (!vma || (vma->flags & (VM_READ | VM_EXEC)) != VM_READ ||
	    (vma->flags & shared_writable) == shared_writable)
		return false;
	/* The file first: its operation touches struct frame, whose cache line arrives while the tree is looked at. */
	if (vma->flags & VM_KIND) {
		frame = area_of(vma)->fault(vma, vma_page(vma, address));
		if (IS_ERR(frame))
			return false;
	}
	entry = pagetable_own(mm->root, address);
	if (!entry || !pte_none(pte_get(entry)))
		return false;
	page_install(mm, entry, address, frame, PTE_READ, true);
	return true;
}

/*
 * Faults from the second page up to these bounds are served without further tests, all others by fault_watched(). There
 * is a bound for faults with the kernel lock, and one for faults outside of it. 0: fault_watched() serves every fault.
 */
static uaddr_t faults_plain = USER_END - PAGE_SIZE, faults_plain_outside = USER_END - PAGE_SIZE;

void faults_bind(void)
{
	bool watched = boot.check || shootdown_deferred || fault_around;

	faults_plain = watched ? 0 : USER_END - PAGE_SIZE;
	faults_plain_outside = watched || tables_shared ? 0 : USER_END - PAGE_SIZE;
}

/*
 * Only in an address space that no other task uses and no other processor has loaded: its areas and its tree are this
 * processor's own, and their changes need no shootdown.
 */
CAUSE(fault) static inline __attribute__((always_inline)) bool fault_outside(struct mm *mm, uaddr_t address,
									     enum mm_access access, bool plain)
{
	int error = -EAGAIN;

	if (!outside_enter())
		return false;
	if (mm->refs == 1 && !cpus_using(mm) && (plain || (!tables_shared && !shootdown_unseen(mm)))) {
		if (!plain && fault_around && access != MM_WRITE)
			fault_around(mm, ALIGN_DOWN(address, PAGE_SIZE), true);
		error = fault_once(mm, address, access, true);
	}
	outside_leave();
	this_cpu()->faults_outside += !error;
	return !error;
}

/* outside: as for fault_once(). With check=on the lock is taken when the fault has been served. */
NOINLINE CAUSE(fault) static int fault_watched(struct mm *mm, uaddr_t address, enum mm_access access, bool outside)
{
	const uaddr_t page = ALIGN_DOWN(address, PAGE_SIZE);
	int error = 0;

	if (address < PAGE_SIZE || address >= USER_END)
		return -EFAULT;
	if (outside) {
		if (!fault_outside(mm, address, access, false))
			return -EAGAIN;
		if (boot.check)
			kernel_lock();
	} else {
		shootdown_reuse(mm, page, page + PAGE_SIZE);
		if (fault_around && access != MM_WRITE)
			fault_around(mm, page, false);
		if (access != MM_READ || !fault_read(mm, address))
			error = fault_locked(mm, address, access);
	}
	check_range(mm, page, page + PAGE_SIZE, outside ? "fault outside of the kernel lock" : "fault");
	return error;
}

NOINLINE CAUSE(fault) int mm_fault(struct mm *mm, uaddr_t address, enum mm_access access)
{
	if (address - PAGE_SIZE >= faults_plain)
		return fault_watched(mm, address, access, false);
	if (access != MM_READ)
		return fault_locked(mm, address, access);
	return fault_read(mm, address) ? 0 : fault_locked(mm, address, MM_READ);
}

NOINLINE CAUSE(fault) bool mm_fault_outside(struct mm *mm, uaddr_t address, enum mm_access access)
{
	if (address - PAGE_SIZE >= faults_plain_outside)
		return !fault_watched(mm, address, access, true);
	return fault_outside(mm, address, access, true);
}

void mm_init(void)
{
	zero_frame = frame_alloc_zeroed(FRAME_KERNEL);
	ASSERT(zero_frame);
	faults_bind();
}

int mm_frame(struct mm *mm, uaddr_t address, enum mm_access access, struct frame **out)
{
	for (;;) {
		pte_t pte = pagetable_read(mm->root, address);
		int error;

		if (address < USER_END && pte_present(pte) && (access != MM_WRITE || pte_writable(pte))) {
			struct frame *frame = pte_frame(pte);

			if (!frame)
				return -EFAULT;
			*out = frame_get(frame);
			return 0;
		}
		error = mm_fault(mm, address, access);
		if (error)
			return error;
	}
}

bool mm_peek(struct mm *mm, uaddr_t address, u32 *word)
{
	bool whole = ARCH_READS_UNALIGNED ? address % PAGE_SIZE <= PAGE_SIZE - sizeof(*word) :
					    address % sizeof(*word) == 0;
	pte_t pte = address < USER_END && whole ? pagetable_read(mm->root, address) : PTE_NONE;

	if (!pte_frame(pte))
		return false;
	*word = *(const u32 *)pa_kva(pte_pa(pte) + address % PAGE_SIZE);
	return true;
}

int mm_frame_own(struct mm *mm, uaddr_t address, struct frame **out)
{
	struct frame *frame;
	int error = mm_frame(mm, address, MM_READ, &frame);
	struct pte *entry;
	struct vma *vma;

	if (error)
		return error;
	frame_put(frame);
	address = ALIGN_DOWN(address, PAGE_SIZE);
	/* The fault may have slept, and another task may have mapped a file here that nobody may write. */
	vma = mm_find(mm, address);
	if (!vma || vma->start > address || vma->flags & (VM_SHARED | VM_DEVICE))
		return -EFAULT;
	entry = pagetable_make(mm, address);
	if (!entry)
		return -ENOMEM;
	error = copy_on_write(vma, entry, address);
	if (!error)
		*out = frame_get(pte_frame(pte_get(entry)));
	check_range(mm, address, address + PAGE_SIZE, "poke");
	return error;
}

/* Whether a word that other address spaces may use can be one: a page that never changes is of no use. */
static bool futex_may_be_in(const struct vma *vma, enum futex_access access)
{
	return vma->flags & VM_WRITE || (access == FUTEX_READ && vma->flags & VM_READ && vma->inode);
}

int mm_futex_key(struct mm *mm, uaddr_t address, bool is_private, enum futex_access access, struct futex_key *key)
{
	const struct vma *vma = NULL;

	if (address % sizeof(u32))
		return -EINVAL;
	if (address >= USER_END)
		return -EFAULT;
	if (!is_private || access == FUTEX_WRITE) {
		vma = mm_find(mm, address);
		if (vma && vma->start > address)
			vma = NULL;
		if (vma && vma->flags & VM_DEVICE)
			return -EFAULT;
	}
	if (!is_private && (!vma || !futex_may_be_in(vma, access)))
		return -EFAULT;
	key->offset = address % PAGE_SIZE;
	if (!is_private && vma->flags & VM_SHARED && vma->inode) {
		key->object = vma->inode;
		key->fs = vma->inode->fs;
		key->number = vma->inode->ino;
		key->page = vma_page(vma, address);
	} else {
		key->object = mm;
		key->fs = NULL;
		key->number = 0;
		key->page = page_number(address);
	}
	return 0;
}
