/* mmap, munmap, mprotect, brk, and the initial stack. */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <file.h>
#include <flush.h>
#include <fs.h>
#include <lib.h>
#include <signal.h>
#include <window.h>

#include "internal.h"

bool range_ok(uaddr_t address, u32 size)
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

/* Attaches what the area maps: a file, a device, or shared anonymous memory. 0 or a negative errno. */
static int vma_attach(struct vma *vma, struct file *file, u32 page)
{
	u32 size = vma->end - vma->start;
	struct file_map map;
	int error;

	if (!file) {
		if (vma->flags & VM_SHARED) {
			vma->inode = inode_anonymous(size);
			if (!vma->inode)
				return -ENOMEM;
		}
		return 0;
	}
	map = (struct file_map){
		.offset = (u64)page << PAGE_SHIFT,
		.size = size,
		.shared = vma->flags & VM_SHARED,
		.write = vma->flags & VM_WRITE,
	};
	error = file_mmap(file, &map);
	if (error)
		return error;
	if (vma->flags & VM_SHARED && (!FILE_WRITES(file) || map.never_written))
		vma->flags &= ~VM_MAY_WRITE;
	switch (map.kind) {
	case MAP_KIND_INODE:
		vma->file = file_get(file);
		vma->inode = inode_get(file->inode);
		vma->first_page = page;
		return 0;
	case MAP_KIND_DEVICE:
		vma->file = file_get(file);
		vma->flags |= VM_DEVICE;
		vma->first_page = map.device_address >> PAGE_SHIFT;
		return 0;
	case MAP_KIND_ZERO:
		return vma_attach(vma, NULL, 0);
	}
	return -ENODEV;
}

bool mm_may_write_inode(const struct inode *inode)
{
	const struct vma *vma;
	u32 areas = 0;

	list_for_each_entry(vma, &inode->mappings, mapping) {
		interrupt_window_at(++areas);
		if (vma->flags & VM_SHARED && vma->flags & VM_MAY_WRITE)
			return true;
	}
	return false;
}

u32 pages_mapped(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 pages = 0, areas = 0;

	for (struct vma *vma = mm_find(mm, start); vma && vma->start < end; vma = mm_next(vma)) {
		interrupt_window_at(++areas);
		pages += (MIN(vma->end, end) - MAX(vma->start, start)) >> PAGE_SHIFT;
	}
	return pages;
}

static void area_drop(struct vma *vma)
{
	vma_unlink(vma);
	vma_free(vma);
}

void areas_remove(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma;

	while ((vma = mm_find(mm, start)) && vma->start < end) {
		zap_range(vma, vma->start, vma->end);
		area_drop(vma);
	}
}

/* Removes whole areas until others wait. Returns the end of what it removed. */
static uaddr_t areas_remove_until_due(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma;

	while ((vma = mm_find(mm, start)) && vma->start < end) {
		uaddr_t stop = zap_until_due(vma, vma->start, vma->end);

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

/*
 * Lets others run, who may change the areas that are left. Marks these, so that no new area merges with one, and none
 * grows down into what is gone.
 */
static void let_others_run(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 areas = 0;

	for (struct vma *vma = mm_find(mm, start); vma && vma->start < end; vma = mm_next(vma)) {
		interrupt_window_at(++areas);
		vma->flags = (vma->flags & ~VM_GROWSDOWN) | VM_LEAVING;
	}
	preemption_point();
}

/* together: other threads see all of the range go at once. */
static int range_unmap(struct mm *mm, uaddr_t address, u32 size, bool together)
{
	uaddr_t end, stop;
	struct vma *vma;

	size = ALIGN_UP(size, PAGE_SIZE);
	if (!range_ok(address, size))
		return -EINVAL;
	for (end = address + size; address < end; address = stop) {
		vma = mm_find(mm, address);
		if (!vma || vma->start >= end)
			return 0;
		if (tables_unshare(mm, address, end) || areas_cut(mm, address, end))
			return -ENOMEM;
		mm->flush_reason = SHOOTDOWN_MUNMAP;
		stop = end;
		if (together)
			areas_remove(mm, address, end);
		else
			stop = areas_remove_until_due(mm, address, end);
		tables_trim(mm, address, stop);
		check_range(mm, address, stop, "munmap");
		if (stop < end)
			let_others_run(mm, stop, end);
	}
	return 0;
}

/* Removes an old mapping only once the new area is ready, so that a call that fails changes nothing. */
static uaddr_t map_new(struct mm *mm, uaddr_t address, u32 size, u32 vm_flags, struct file *file, u32 page)
{
	struct vma *vma = vma_new(mm, address, address + size, vm_flags);
	int error;

	if (!vma)
		return (uaddr_t)-ENOMEM;
	error = vma_attach(vma, file, page);
	if (!error)
		error = mm_unmap(mm, address, size);
	if (error) {
		vma_free(vma);
		return (uaddr_t)error;
	}
	vma_link(vma);
	vma_merge(vma);
	return address;
}

static void area_populate(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma = mm_find(mm, start);
	enum mm_access access = vma && vma->flags & VM_WRITE && !(vma->flags & VM_SHARED) ? MM_WRITE : MM_READ;

	for (; start < end && !signal_fatal_pending(); start += PAGE_SIZE) {
		if (mm_fault(mm, start, access))
			break;
		preemption_point();
	}
}

uaddr_t mm_map(struct mm *mm, uaddr_t address, u32 size, u32 prot, u32 flags, struct file *file, u32 page)
{
	u32 type = flags & MAP_TYPE, replaced = 0;
	uaddr_t result;

	if (!size)
		return (uaddr_t)-EINVAL;
	/* The range must end at a page number of the file that fits 32 bits. */
	if (file && page + ((u64)size + PAGE_SIZE - 1) / PAGE_SIZE > 0xffffffffull)
		return (uaddr_t)-EOVERFLOW;
	if (size > USER_END)
		return (uaddr_t)-ENOMEM;
	size = ALIGN_UP(size, PAGE_SIZE);
	if (type == MAP_SHARED_VALIDATE)
		flags &= ~(u32)(MAP_TYPE & ~MAP_SHARED);
	else if (type != MAP_SHARED && type != MAP_PRIVATE)
		return (uaddr_t)-EINVAL;
	/* Page numbers of a file or a device count from the area's start, so such an area cannot grow down. */
	if (flags & MAP_GROWSDOWN && (file || type != MAP_PRIVATE))
		return (uaddr_t)-EINVAL;
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
	if (mm->total_pages - replaced + (size >> PAGE_SHIFT) > mm->address_limit >> PAGE_SHIFT)
		return (uaddr_t)-ENOMEM;
	if (flags & MAP_LOCKED || mm->lock_future) {
		if (!mm_may_lock(mm, size >> PAGE_SHIFT))
			return (uaddr_t)-EAGAIN;
		flags |= MAP_LOCKED;
	}
	result = map_new(mm, address, size, area_flags(prot, flags), file, page);
	if (!IS_ERR_VALUE(result) && flags & (MAP_POPULATE | MAP_LOCKED))
		area_populate(mm, result, result + size);
	check_range(mm, address, address + size, "mmap");
	return result;
}

int mm_unmap(struct mm *mm, uaddr_t address, u32 size)
{
	return range_unmap(mm, address, size, true);
}

int mm_unmap_in_parts(struct mm *mm, uaddr_t address, u32 size)
{
	return range_unmap(mm, address, size, false);
}

/* Gives the entries the area's new permissions. Pages that must be copied before a write stay read-only. */
static void change_entries(struct vma *vma)
{
	uaddr_t address = vma->start;

	while (address < vma->end) {
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
			interrupt_window_at(address >> PAGE_SHIFT);
		pte = pte_get(entry);
		if (!pte_none(pte)) {
			bool own = !pte_frame(pte) || vma->flags & VM_SHARED || pte_writable(pte);

			pagetable_set(entry, vma_pte(vma, pte_pa(pte), own));
			if (vma->flags & VM_EXEC && pte_frame(pte))
				arch_icache_sync(pa_kva(pte_pa(pte)), PAGE_SIZE);
		}
		address += PAGE_SIZE;
	}
}

int mm_protect(struct mm *mm, uaddr_t address, u32 size, u32 prot)
{
	uaddr_t end, rights = prot & VM_PROT, areas = 0;
	struct vma *vma;

	if (address % PAGE_SIZE || prot & ~(u32)(VM_PROT | PROT_GROWSDOWN | PROT_GROWSUP))
		return -EINVAL;
	if (!size)
		return 0;
	size = ALIGN_UP(size, PAGE_SIZE);
	if (!range_ok(address, size))
		return -ENOMEM;
	end = address + size;
	vma = mm_find(mm, address);
	if (prot & PROT_GROWSDOWN && vma && vma->flags & VM_GROWSDOWN && vma->start <= address)
		address = vma->start;
	if (!areas_cover(mm, address, end))
		return -ENOMEM;
	for (vma = mm_find(mm, address); vma && vma->start < end; vma = mm_next(vma)) {
		interrupt_window_at(++areas);
		if (rights & ~(vma->flags >> 4 & VM_PROT))
			return -EACCES;
	}
	if (tables_unshare(mm, address, end) || areas_cut(mm, address, end))
		return -ENOMEM;
	mm->flush_reason = SHOOTDOWN_MPROTECT;
	for (vma = mm_find(mm, address); vma && vma->start < end; vma = mm_next(vma)) {
		interrupt_window_at(++areas);
		if ((vma->flags & VM_PROT) == rights)
			continue;
		vma->flags = (vma->flags & ~VM_PROT) | rights;
		change_entries(vma);
		flush->range(mm, vma->start, vma->end);
		vma = vma_merge(vma);
	}
	check_range(mm, address, end, "mprotect");
	return 0;
}

void mm_brk_init(struct mm *mm, uaddr_t start)
{
	mm->brk_start = mm->brk = ALIGN_UP(start, PAGE_SIZE);
}

uaddr_t mm_brk(struct mm *mm, uaddr_t address)
{
	uaddr_t old = ALIGN_UP(mm->brk, PAGE_SIZE), new;
	struct vma *vma;

	if (address < mm->brk_start || address >= USER_STACK_TOP || address - mm->brk_start > mm->data_limit)
		return mm->brk;
	new = ALIGN_UP(address, PAGE_SIZE);
	if (new < old) {
		uaddr_t before = mm->brk;

		/* Now, since other threads may run meanwhile. */
		mm->brk = address;
		if (mm_unmap_in_parts(mm, new, old - new)) {
			mm->brk = before;
			return before;
		}
		check_range(mm, new, old, "brk");
		return address;
	} else if (new > old) {
		/* Keep a page free above the heap, so that an overrun faults. */
		if (!range_free(mm, old, new + PAGE_SIZE) ||
		    (mm->lock_future && !mm_may_lock(mm, (new - old) >> PAGE_SHIFT)) ||
		    mm->total_pages + ((new - old) >> PAGE_SHIFT) > mm->address_limit >> PAGE_SHIFT)
			return mm->brk;
		vma = vma_new(mm, old, new, area_flags(PROT_READ | PROT_WRITE,
						       MAP_PRIVATE | (mm->lock_future ? MAP_LOCKED : 0)) |
					    VM_HEAP);
		if (!vma)
			return mm->brk;
		vma_link(vma);
		vma_merge(vma);
	}
	mm->brk = address;
	check_range(mm, MIN(old, new), MAX(old, new), "brk");
	return address;
}

int mm_stack_init(struct mm *mm, uaddr_t top, u32 size)
{
	struct vma *vma;

	if (size > top - PAGE_SIZE || !range_free(mm, top - size, top))
		return -ENOEXEC;
	vma = vma_new(mm, top - size, top,
		      area_flags(PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN) | VM_STACK);

	if (!vma)
		return -ENOMEM;
	vma_link(vma);
	mm->stack_start = top;
	return 0;
}
