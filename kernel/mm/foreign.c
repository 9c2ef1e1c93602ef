/* Another process's memory: process_vm_readv and _writev, a debugger's writes, and the pages of a core file. */
#include <arch.h>
#include <file.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <window.h>

#include "internal.h"

/*
 * The frame of a page that a debugger writes, with a reference. In a private area that the program may only read, the
 * program gets its own copy first, which stays read-only.
 */
static int frame_to_poke(struct mm *mm, uaddr_t address, struct frame **out)
{
	struct vma *vma = mm_find(mm, address);

	if (!vma || vma->start > address)
		return -EFAULT;
	if (vma->flags & VM_WRITE || vma->flags & (VM_SHARED | VM_DEVICE))
		return mm_frame(mm, address, MM_WRITE, out);
	return mm_frame_own(mm, address, out);
}

int mm_poke(struct mm *mm, uaddr_t address, const void *from, size_t n)
{
	while (n) {
		u32 offset = address % PAGE_SIZE, part = MIN((u32)n, PAGE_SIZE - offset);
		struct frame *frame;

		if (frame_to_poke(mm, address, &frame))
			return -EFAULT;
		memcpy((u8 *)frame_kva(frame) + offset, from, part);
		arch_icache_sync((u8 *)frame_kva(frame) + offset, part);
		frame_put(frame);
		address += part;
		from = (const u8 *)from + part;
		n -= part;
	}
	return 0;
}

bool vma_has_own_pages(const struct vma *vma)
{
	uaddr_t address = vma->start;

	while (address < vma->end) {
		const struct pte *entry = pagetable_find(vma->mm->root, address);
		const struct frame *frame;

		if (!entry) {
			address = pagetable_next(address);
			continue;
		}
		interrupt_window_at(page_number(address));
		frame = pte_frame(pte_get(entry));
		if (frame && frame->use == FRAME_ANONYMOUS)
			return true;
		address += PAGE_SIZE;
	}
	return false;
}

struct frame *mm_frame_present(struct mm *mm, uaddr_t address)
{
	const struct vma *vma = mm_find(mm, address);
	struct frame *frame;
	pte_t pte;

	if (!vma || vma->start > address)
		return NULL;
	pte = pagetable_read(mm->root, address);
	if (!pte_none(pte)) {
		frame = pte_frame(pte);
		return !frame || frame == zero_frame ? NULL : frame_get(frame);
	}
	frame = vma->flags & VM_OBJECT ? area_of(vma)->present(vma, vma_page(vma, address)) : NULL;
	return frame ? frame_get(frame) : NULL;
}

static struct list_head all_notes = LIST_HEAD_INIT(all_notes);

void frame_note_begin(struct frame_note *note, const struct frame *frame)
{
	note->frame = frame;
	list_add(&note->link, &all_notes);
}

void frame_note_end(struct frame_note *note)
{
	list_del(&note->link);
}

u32 frame_notes(const struct frame *frame)
{
	struct frame_note *note;
	u32 count = 0;

	list_for_each_entry(note, &all_notes, link)
		count += note->frame == frame;
	return count;
}

/*
 * Copies one piece, page by page, between which others run. Returns the bytes copied, or an error if there were none.
 */
static long foreign_move(struct mm *mm, uaddr_t address, size_t size, struct iter *it, bool write)
{
	long done = 0;

	while (size && it->left) {
		u32 offset = address % PAGE_SIZE;
		size_t part = MIN(MIN(size, it->left), (size_t)(PAGE_SIZE - offset));
		struct frame_note note;
		struct frame *frame;
		long n = mm_frame(mm, address, write ? MM_WRITE : MM_READ, &frame) ? -EFAULT : 0;

		if (!n) {
			u8 *at = (u8 *)frame_kva(frame) + offset;

			frame_note_begin(&note, frame);
			n = write ? iter_read(it, at, part) : iter_write(it, at, part);
			frame_note_end(&note);
			if (write && n > 0)
				arch_icache_sync(at, (size_t)n);
			frame_put(frame);
		}
		if (n <= 0)
			return done ? done : n;
		done += n;
		address += (u32)n;
		size -= (size_t)n;
		preemption_point();
		it->unwindowed = 0;
		if (signal_fatal_pending())
			break;
	}
	return done;
}

static long move_all(struct mm *mm, const struct user_vector *remote, size_t count, struct iter *it, bool write)
{
	long done = 0;

	for (size_t i = 0; i < count && it->left; i++) {
		const struct iovec *piece = &remote->piece[i];
		long n = piece->len ? foreign_move(mm, (uaddr_t)piece->base, piece->len, it, write) : 0;

		if (n < 0)
			return done ? done : n;
		done += n;
		if ((size_t)n < piece->len)
			break;
	}
	return done;
}

long sys_process_vm_by(s32 pid, const struct iovec *local, size_t count, const struct iovec *remote,
		       size_t remote_count, u32 flags, bool write)
{
	struct user_vector ours, theirs;
	struct iter it;
	struct task *task;
	struct mm *mm;
	long result;

	if (flags)
		return -EINVAL;
	result = user_vector_load(&ours, local, count, &it);
	if (result)
		return result;
	result = user_vector_load(&theirs, remote, remote_count, NULL);
	if (result) {
		user_vector_free(&ours);
		return result;
	}
	task = task_find(pid);
	if (!task || !task->mm)
		result = -ESRCH;
	else if (!may_trace(task))
		result = -EPERM;
	if (!result) {
		mm = mm_get(task->mm);
		result = move_all(mm, &theirs, remote_count, &it, write);
		mm_put(mm);
	}
	user_vector_free(&theirs);
	user_vector_free(&ours);
	return result;
}
