/* mmap, munmap, mprotect, brk, and the initial stack. */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <flush.h>
#include <fs.h>
#include <lib.h>
#include <signal.h>
#include <smp.h>
#include <window.h>

#include "internal.h"

/* The flags that MAP_SHARED_VALIDATE accepts. */
#define MAP_KNOWN \
	(u32)(MAP_SHARED_VALIDATE | MAP_FIXED | MAP_ANONYMOUS | MAP_GROWSDOWN | MAP_DENYWRITE | MAP_EXECUTABLE | \
	      MAP_LOCKED | MAP_NORESERVE | MAP_POPULATE | MAP_NONBLOCK | MAP_STACK | MAP_HUGETLB | MAP_HUGE_SIZES | \
	      MAP_32BIT)

static bool range_ok(uaddr_t address, uaddr_t size)
{
	return address % PAGE_SIZE == 0 && size && address < USER_END && size <= USER_END - address;
}

/* An area's flags from mmap's arguments. */
static u32 area_flags(u32 prot, u32 flags)
{
	u32 vm = prot & VM_PROT;

	vm |= VM_MAY_READ | VM_MAY_WRITE | VM_MAY_EXEC;
	if (flags & MAP_SHARED)
		vm |= VM_SHARED;
	if (flags & MAP_GROWSDOWN)
		vm |= VM_GROWSDOWN;
	if (flags & MAP_LOCKED)
		vm |= VM_LOCKED;
	return vm;
}

bool mm_may_write_inode(const struct inode *inode)
{
	const struct vma *vma;

	list_for_each_window(vma, &inode->mappings, mapping)
		if (vma->flags & VM_SHARED && vma->flags & VM_MAY_WRITE)
			return true;
	return false;
}

static u32 pages_mapped(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma;
	u32 pages = 0;

	for_each_area_window(vma, mm, start, end)
		pages += page_count(MIN(vma->end, end) - MAX(vma->start, start));
	return pages;
}

static void area_drop(struct vma *vma)
{
	vma_unlink(vma);
	vma_free(vma);
}

/* Removes areas until other tasks wait to run. Returns the end of what it removed. */
static uaddr_t areas_remove(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma;

	while ((vma = mm_find(mm, start)) && vma->start < end) {
		uaddr_t stop = zap_part(vma, vma->start, vma->end);

		if (stop < vma->end) {
			u32 page = vma_page(vma, stop);

			vma_unlink(vma);
			vma->start = stop;
			vma->first_page = page;
			vma_link(vma);
			return stop;
		}
		area_drop(vma);
		if (stop < end && preemption_due())
			return stop;
	}
	return end;
}

bool removal_keeps_apart(const struct mm *mm, uaddr_t address)
{
	const struct removal *r;

	list_for_each_entry(r, &mm->removals, link)
		if (address >= r->at && address <= r->end)
			return true;
	return false;
}

bool removal_forbids_growth(const struct mm *mm, uaddr_t from, uaddr_t to)
{
	const struct removal *r;

	list_for_each_entry(r, &mm->removals, link)
		if (from >= r->at && (from < r->end || (r->replaces && to < r->end)))
			return true;
	return false;
}

/*
 * Removes areas until others wait to run. True: there is more to remove. Else false, with *error 0 or -ENOMEM. Only
 * the first call can fail, and changes nothing then, unless other threads have changed the range meanwhile.
 */
static bool removal_part(struct mm *mm, struct removal *r, int *error)
{
	uaddr_t start = r->at;
	struct vma *vma = mm_find(mm, start);

	*error = 0;
	if (!vma || vma->start >= r->end)
		return false;
	if (tables_unshare(mm, start, r->end) || areas_cut(mm, start, r->end)) {
		*error = -ENOMEM;
		return false;
	}
	mm->flush_reason = SHOOTDOWN_MUNMAP;
	r->at = areas_remove(mm, start, r->end);
	tables_trim(mm, start, r->at);
	check_range(mm, start, r->at, "munmap");
	return r->at < r->end;
}

int mm_unmap_in_parts(struct mm *mm, uaddr_t address, uaddr_t size)
{
	struct removal r = { .start = address, .at = address };
	int error;

	size = ALIGN_UP(size, PAGE_SIZE);
	if (!range_ok(address, size))
		return -EINVAL;
	r.end = address + size;
	list_add(&r.link, &mm->removals);
	while (removal_part(mm, &r, &error))
		preemption_point();
	list_del(&r.link);
	return error;
}

/* Other threads see all of the range go at once. */
int mm_unmap(struct mm *mm, uaddr_t address, uaddr_t size)
{
	uaddr_t end;
	struct vma *vma;

	size = ALIGN_UP(size, PAGE_SIZE);
	if (!range_ok(address, size))
		return -EINVAL;
	end = address + size;
	vma = mm_find(mm, address);
	if (!vma || vma->start >= end)
		return 0;
	if (tables_unshare(mm, address, end) || areas_cut(mm, address, end))
		return -ENOMEM;
	mm->flush_reason = SHOOTDOWN_MUNMAP;
	while ((vma = mm_find(mm, address)) && vma->start < end) {
		zap_range(vma, vma->start, vma->end);
		area_drop(vma);
	}
	tables_trim(mm, address, end);
	check_range(mm, address, end, "munmap");
	return 0;
}

/*
 * Puts a new area in the place of what its range maps. If the process has one thread, other processes may run
 * meanwhile: the new area covers at any time what has been removed. Nobody but the caller changes areas then, so only
 * the first part can fail. 0, with the area linked, or -ENOMEM.
 */
static int area_replace(struct vma *vma)
{
	struct removal r = { .start = vma->start, .at = vma->start, .end = vma->end, .replaces = true };
	struct mm *mm = vma->mm;
	bool linked = false;
	int error;

	if (mm->refs > 1) {
		error = mm_unmap(mm, vma->start, vma->end - vma->start);
		if (!error)
			vma_link(vma);
		return error;
	}
	list_add(&r.link, &mm->removals);
	while (removal_part(mm, &r, &error)) {
		if (linked)
			vma_unlink(vma);
		vma->end = r.at;
		vma_link(vma);
		linked = true;
		preemption_point();
	}
	list_del(&r.link);
	if (error)
		return error;
	if (linked)
		vma_unlink(vma);
	vma->end = r.end;
	vma_link(vma);
	return 0;
}

/* Removes an old mapping only once the new area is ready, so that a call that fails changes nothing. */
static uaddr_t map_new(struct mm *mm, uaddr_t address, uaddr_t size, u32 vm_flags, struct file *file, u32 page)
{
	struct vma *vma = vma_new(mm, address, address + size, vm_flags);
	int error = 0;

	if (!vma)
		return (uaddr_t)-ENOMEM;
	if (file || vm_flags & VM_SHARED)
		error = mm_files.attach(vma, file, page);
	if (!error)
		error = area_replace(vma);
	if (error) {
		vma_free(vma);
		return (uaddr_t)error;
	}
	vma_merge(vma);
	return address;
}

void area_populate(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma = mm_find(mm, start);
	enum mm_access access = vma && vma->flags & VM_WRITE && !(vma->flags & VM_SHARED) ? MM_WRITE : MM_READ;

	if (vma && vma->flags & VM_ONFAULT)
		return;
	for (; start < end && !signal_fatal_pending(); start += PAGE_SIZE) {
		if (mm_fault(mm, start, access))
			break;
		preemption_point();
	}
}

/* Whether a mapping of this type may have these flags: 0 or a negative errno. */
static int check_type(u32 type, u32 flags, const struct file *file)
{
	if (type == MAP_SHARED_VALIDATE && file) {
		if (flags & ~MAP_KNOWN)
			return -EOPNOTSUPP;
		type = MAP_SHARED;
	}
	/* Page numbers of a file or a device count from the area's start, so such an area cannot grow down. */
	if ((type != MAP_SHARED && type != MAP_PRIVATE) ||
	    (flags & MAP_GROWSDOWN && (file || type != MAP_PRIVATE)))
		return -EINVAL;
	return 0;
}

uaddr_t mm_map(struct mm *mm, uaddr_t address, uaddr_t size, u32 prot, u32 flags, struct file *file, u32 page)
{
	u32 replaced = 0;
	uaddr_t result;
	int error;

	if (!size)
		return (uaddr_t)-EINVAL;
	/* The range must end at a page number of the file that fits 32 bits. */
	if (file && page + ((u64)size + PAGE_SIZE - 1) / PAGE_SIZE > 0xffffffffull)
		return (uaddr_t)-EOVERFLOW;
	if (size > USER_END)
		return (uaddr_t)-ENOMEM;
	size = ALIGN_UP(size, PAGE_SIZE);
	if (flags & (MAP_FIXED | MAP_FIXED_NOREPLACE)) {
		if (address % PAGE_SIZE)
			return (uaddr_t)-EINVAL;
		if (address > USER_END || size > USER_END - address)
			return (uaddr_t)-ENOMEM;
		if (address < PAGE_SIZE)
			return (uaddr_t)-EPERM;
		if (flags & MAP_FIXED_NOREPLACE) {
			struct vma *vma = mm_find(mm, address);

			if (vma && vma->start < address + size)
				return (uaddr_t)-EEXIST;
		}
		replaced = pages_mapped(mm, address, address + size);
	} else {
		address = area_place(mm, address, size);
		if (!address)
			return (uaddr_t)-ENOMEM;
	}
	if (mm->lock_future)
		flags |= MAP_LOCKED;
	if (flags & MAP_LOCKED && !mm_may_lock(mm, page_count(size)))
		return (uaddr_t)-EAGAIN;
	error = check_type(flags & MAP_TYPE, flags, file);
	if (error)
		return (uaddr_t)error;
	if ((flags & MAP_TYPE) == MAP_SHARED_VALIDATE)
		flags &= ~(u32)(MAP_TYPE & ~MAP_SHARED);
	if (mm->total_pages - replaced + (size >> PAGE_SHIFT) > mm->program.address_limit >> PAGE_SHIFT)
		return (uaddr_t)-ENOMEM;
	result = map_new(mm, address, size, area_flags(prot, flags) | mm->lock_future, file, page);
	if (!IS_ERR_VALUE(result) &&
	    (flags & MAP_LOCKED || (flags & (MAP_POPULATE | MAP_NONBLOCK)) == MAP_POPULATE))
		area_populate(mm, result, result + size);
	check_range(mm, address, address + size, "mmap");
	return result;
}

/* Gives entries the area's new permissions. Pages that must be copied before a write stay read-only. */
static void change_entries(struct vma *vma, uaddr_t address, uaddr_t end)
{
	while (address < end) {
		struct pte *entry = pagetable_find(vma->mm->root, address);
		pte_t pte;

		if (!entry) {
			address = pagetable_next(address);
			continue;
		}
		/* Flushing an executable page from the caches takes as long as changing many entries. */
		if (vma->flags & VM_EXEC)
			interrupt_window();
		else
			interrupt_window_at(page_number(address));
		pte = pte_get(entry);
		if (!pte_none(pte)) {
			bool device = !pte_has_frame(pte);
			bool own = device || area_writable_at_once(vma) || pte_writable(pte);

			pagetable_set(entry, vma_pte(vma, pte_pa(pte), own, device));
			if (vma->flags & VM_EXEC && !device)
				arch_icache_sync(pa_kva(pte_pa(pte)), PAGE_SIZE);
		}
		address += PAGE_SIZE;
	}
}

/* If other tasks wait to run, cuts off the rest of an area, which keeps its old flags. False: the area stays in one. */
static bool rest_cut_off(struct vma *vma, uaddr_t at, u32 flags)
{
	/* Areas of these kinds would not join again. */
	if (flags & (VM_GROWSDOWN | VM_STACK | VM_DEVICE) || !preemption_due() || vma_split(vma, at))
		return false;
	mm_next(vma)->flags = flags;
	return true;
}

/* Gives new rights to an area, or to a part of it if other tasks wait. Returns the end of the part that has them. */
static uaddr_t area_protect(struct vma *vma, u32 rights)
{
	u32 before = vma->flags;
	/* One flush before all parts, as in zap_part(). */
	bool flushed = !SEVERAL && vma->end - vma->start > PART_SIZE &&
		       flush_range_whole(vma->mm, vma->start, vma->end);
	uaddr_t stop;

	vma->flags = (before & ~VM_PROT) | rights;
	for (uaddr_t at = vma->start; at < vma->end; at = stop) {
		stop = part_end(vma->mm, at, vma->end);
		change_entries(vma, at, stop);
		if (!flushed)
			flush->range(vma->mm, at, stop);
		if (stop < vma->end && rest_cut_off(vma, stop, before))
			break;
	}
	return vma_merge(vma)->end;
}

static bool may_protect(const struct vma *vma, u32 rights)
{
	return !(rights & ~(vma->flags >> 4 & VM_PROT));
}

static uaddr_t protect_part(struct vma *vma, uaddr_t start, uaddr_t end, const void *how)
{
	const u32 *rights = how;
	struct mm *mm = vma->mm;

	if (!may_protect(vma, *rights))
		return (uaddr_t)-EACCES;
	if ((vma->flags & VM_PROT) == *rights)
		return end;
	if (tables_unshare(mm, start, end) || areas_cut(mm, start, end))
		return (uaddr_t)-ENOMEM;
	mm->flush_reason = SHOOTDOWN_MPROTECT;
	end = area_protect(mm_find(mm, start), *rights);
	check_range(mm, start, end, "mprotect");
	return end;
}

/* The range that mprotect with PROT_GROWSDOWN or PROT_GROWSUP means: *address is moved to an area's start. */
static int growing_range(struct mm *mm, uaddr_t *address, uaddr_t end, u32 prot)
{
	const struct vma *vma = mm_find(mm, *address);

	if (!vma || vma->start >= end || (!(prot & PROT_GROWSDOWN) && vma->start > *address))
		return -ENOMEM;
	/* Nothing grows up here. */
	if (prot & PROT_GROWSUP || !(vma->flags & VM_GROWSDOWN))
		return -EINVAL;
	*address = vma->start;
	return 0;
}

/*
 * The range changes in parts, between which other threads may run and see only some of it with the new rights. After an
 * error, what lies before the hole, or before the area that may not have the rights, keeps the new ones, as on Linux.
 */
int mm_protect(struct mm *mm, uaddr_t address, uaddr_t size, u32 prot)
{
	const u32 grows = PROT_GROWSDOWN | PROT_GROWSUP;
	u32 rights = prot & VM_PROT;
	uaddr_t end;
	int error = 0;

	if (address % PAGE_SIZE || (prot & grows) == grows)
		return -EINVAL;
	if (!size)
		return 0;
	end = address + ALIGN_UP(size, PAGE_SIZE);
	if (end <= address)
		return -ENOMEM;
	if (prot & ~(u32)(VM_PROT | PROT_SEM | grows))
		return -EINVAL;
	if (prot & grows)
		error = growing_range(mm, &address, end, prot);
	return error ? error : areas_walk(mm, address, end, HOLES_END, protect_part, &rights);
}

void mm_brk_init(struct mm *mm, uaddr_t start)
{
	mm->program.brk_start = mm->program.brk = ALIGN_UP(start, PAGE_SIZE);
}

/*
 * From the top, in parts: mm->program.brk is the end of the heap whenever other threads run. Stops when one of them
 * moves it, or when a part cannot be removed.
 */
static void heap_shrink(struct mm *mm, uaddr_t address)
{
	uaddr_t low = ALIGN_UP(address, PAGE_SIZE), high = ALIGN_UP(mm->program.brk, PAGE_SIZE), stop;

	for (; high > low; high = stop) {
		stop = high - low > PART_SIZE ? high - PART_SIZE : low;
		if (mm_unmap(mm, stop, high - stop))
			return;
		mm->program.brk = stop == low ? address : stop;
		if (stop == low)
			return;
		preemption_point();
		if (mm->program.brk != stop)
			return;
	}
}

uaddr_t mm_brk(struct mm *mm, uaddr_t address)
{
	uaddr_t old = ALIGN_UP(mm->program.brk, PAGE_SIZE), new;
	struct vma *vma;

	if (address < mm->program.brk_start || address >= USER_STACK_TOP ||
	    address - mm->program.brk_start > mm->program.data_limit)
		return mm->program.brk;
	new = ALIGN_UP(address, PAGE_SIZE);
	if (new < old) {
		heap_shrink(mm, address);
		return mm->program.brk;
	} else if (new > old) {
		/* Keep a page free above the heap, so that an overrun faults. */
		if (!range_free(mm, old, new + PAGE_SIZE) ||
		    (mm->lock_future && !mm_may_lock(mm, page_count(new - old))) ||
		    mm->total_pages + ((new - old) >> PAGE_SHIFT) > mm->program.address_limit >> PAGE_SHIFT)
			return mm->program.brk;
		vma = vma_new(mm, old, new, area_flags(PROT_READ | PROT_WRITE, MAP_PRIVATE) | mm->lock_future |
					    VM_HEAP);
		if (!vma)
			return mm->program.brk;
		vma_link(vma);
		vma_merge(vma);
	}
	mm->program.brk = address;
	if (new > old && mm->lock_future)
		area_populate(mm, old, new);
	check_range(mm, MIN(old, new), MAX(old, new), "brk");
	return address;
}

int mm_stack_init(struct mm *mm, uaddr_t top, uaddr_t size)
{
	struct vma *vma;

	if (size > top - PAGE_SIZE || !range_free(mm, top - size, top))
		return -ENOEXEC;
	vma = vma_new(mm, top - size, top,
		      area_flags(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN) | VM_STACK);

	if (!vma)
		return -ENOMEM;
	vma_link(vma);
	mm->program.stack_start = top;
	return 0;
}
