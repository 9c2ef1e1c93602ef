/* Address spaces: creation, fork, end. */
#include <check.h>
#include <context.h>
#include <cpu.h>
#include <errno.h>
#include <flush.h>
#include <kmalloc.h>
#include <lib.h>
#include <mmu.h>
#include <window.h>

#include "internal.h"

struct list_head mm_list = LIST_HEAD_INIT(mm_list);

void mm_for_each(void (*function)(struct mm *mm))
{
	struct mm *mm;

	list_for_each_entry(mm, &mm_list, all)
		function(mm);
}

struct mm *mm_create(void)
{
	static u32 last;
	struct mm *mm = kzalloc(sizeof(*mm));

	if (!mm)
		return NULL;
	list_init(&mm->removals);
	mm->number = ++last ? last : ++last;
	mm->root = pagetable_root_new();
	if (!mm->root) {
		kfree(mm);
		return NULL;
	}
	mm->refs = 1;
	mm->table_pages = 1;
	mm->program.stack_limit = 8u << 20;
	mm->program.address_limit = mm->program.data_limit = ~0u;
	list_add_tail(&mm->all, &mm_list);
	return mm;
}

/* Other tasks may change the entries of pages of files meanwhile, but not the areas. */
static void zap_in_parts(struct vma *vma)
{
	uaddr_t stop;

	for (uaddr_t at = vma->start; at < vma->end; at = stop) {
		stop = part_end(vma->mm, at, vma->end);
		if (vma->mm->unflushed)
			zap_ended(vma, at, stop);
		else
			zap_unflushed(vma, at, stop);
		if (stop < vma->end)
			preemption_point();
	}
}

/* Nobody uses the address space any more, so other tasks may run between two parts. */
static void mm_end(struct deferred *ending)
{
	struct mm *mm = container_of(ending, struct mm, ending);
	struct vma *vma;

	current->ending_mm = mm;
	mm->flush_reason = SHOOTDOWN_EXIT;
	flush->last(mm);
	while ((vma = mm_first(mm))) {
		uaddr_t start = vma->start, end = vma->end;

		tables_leave(vma);
		zap_in_parts(vma);
		preemption_point();
		vma_unlink(vma);
		vma_free(vma);
		tables_trim(mm, start, end);
	}
	ASSERT(mm->resident_pages == 0 && mm->table_pages == 1);
	if (this_cpu()->mm == mm)
		mmu->activate(NULL);
	check_everything("exit");
	list_del(&mm->all);
	pagetable_root_free(mm->root);
	mm_context_end(&mm->context);
	if (mm->executable)
		mm_files.program_released(mm->executable);
	current->ending_mm = NULL;
	kfree(mm);
}

void mm_put(struct mm *mm)
{
	ASSERT(mm->refs > 0);
	/* The last task that uses it must first see what other processors changed in it (outside.h). */
	if (mm->refs > 1)
		outside_settle();
	if (--mm->refs == 0)
		defer(&mm->ending, mm_end);
}

struct mm *mm_ending(struct deferred *work)
{
	return work->run == mm_end ? container_of(work, struct mm, ending) : NULL;
}

/*
 * Copies the entries of one area in [start, end), which one table covers, to the child. Both share the frames;
 * writable private pages become read-only in both.
 */
static inline __attribute__((always_inline)) int copy_entries(struct mm *child, struct vma *vma, uaddr_t start,
							      uaddr_t end, bool at_update)
{
	bool protect = !(vma->flags & VM_SHARED);
	struct pte *from = pagetable_find(vma->mm->root, start);

	for (; start < end; start += PAGE_SIZE, from++) {
		pte_t pte = pte_get(from);
		struct frame *frame;
		struct pte *to;

		interrupt_window_at(page_number(start));
		if (pte_none(pte))
			continue;
		to = pagetable_make(child, start);
		if (!to)
			return -ENOMEM;
		frame = pte_frame(pte);
		if (frame) {
			if (protect && pte_writable(pte)) {
				pte = pte_write_protect(pte);
				pagetable_set(from, pte);
				if (at_update)
					fork_protected(vma->mm, start);
			}
			frame_get(frame);
			child->resident_pages++;
		}
		pagetable_install(to, pte_copy(pte));
	}
	return 0;
}

static int copy_table(struct mm *child, struct vma *vma, uaddr_t start, uaddr_t end)
{
	return copy_entries(child, vma, start, end, false);
}

/* With pte.update=immediate or batch: the parent's page is flushed when it becomes read-only. */
NOINLINE static int copy_table_flushed(struct mm *child, struct vma *vma, uaddr_t start, uaddr_t end)
{
	return copy_entries(child, vma, start, end, true);
}

/* A fork: how far it has come in the parent. */
struct forking {
	struct mm *parent, *child;
	uaddr_t at;             /* what lies below is copied */
	uaddr_t flushed;        /* what lies below is flushed since it became read-only */
	u32 pages;              /* how many have tables and are not flushed */
	bool at_update;         /* each page is flushed when it becomes read-only */
};

/* The last flush lets no other task run, so at most this many pages are left to it. */
#define FLUSHED_TOGETHER 1024u

static void flush_copied(struct forking *f)
{
	struct vma *vma;

	f->parent->flush_reason = SHOOTDOWN_FORK;
	if (flush->whole_is_short) {
		flush->whole(f->parent);
		return;
	}
	if (f->at_update) {
		fork_protected_all(f->parent);
	} else {
		for_each_area_window(vma, f->parent, f->flushed, f->at)
			flush->range(f->parent, MAX(vma->start, f->flushed), MIN(vma->end, f->at));
	}
	f->flushed = f->at;
	f->pages = 0;
}

/*
 * A parent with threads gets no pause: the child must see memory as it was at one moment. With shared tables the pause
 * is between two tables: after a pause, the parent may have a copy of its own of each table that it shared with the
 * child, so the rest of such a table can no longer be shared or copied.
 */
static bool may_pause(const struct forking *f)
{
	return f->parent->refs == 1 && !(fork_shares && pagetable_find(f->child->root, f->at));
}

/* Lets waiting tasks run, after a flush: no cached entry may permit a write to what is read-only now. */
static void fork_pause(struct forking *f)
{
	if (!may_pause(f) || !preemption_due())
		return;
	flush_copied(f);
	preemption_point();
}

static int copy_pages(struct forking *f, struct vma *vma)
{
	int error = 0;

	for (f->at = vma->start; f->at < vma->end && !error;) {
		uaddr_t start = f->at, stop = part_end(f->parent, start, vma->end);

		if (pagetable_find(f->parent->root, start)) {
			if (f->pages >= FLUSHED_TOGETHER && may_pause(f) && !flush->whole_is_short)
				flush_copied(f);
			f->pages += page_count(stop - start);
			if (!table_share(f->parent, f->child, start))
				error = (f->at_update ? copy_table_flushed : copy_table)(f->child, vma, start, stop);
		}
		f->at = stop;
		if (stop < vma->end)
			fork_pause(f);
	}
	return error;
}

static int copy_area(struct forking *f, struct vma *vma)
{
	struct vma *copy = vma_copy(vma);

	if (!copy)
		return -ENOMEM;
	copy->mm = f->child;
	copy->flags &= ~VM_LOCK_MASK;
	vma_link(copy);
	return vma->flags & VM_WIPEONFORK ? 0 : copy_pages(f, vma);
}

/*
 * When fork fails, a table that the child shares may have entries for areas that the child did not get. The child
 * leaves such tables before others run: if the parent copied one, the child would own it alone, with those entries.
 */
static void leave_all_tables(struct mm *child)
{
	struct vma *vma;

	for_each_link_long(vma, mm_first(child), mm_next(vma))
		tables_leave(vma);
}

struct mm *mm_fork(struct mm *parent)
{
	struct mm *child = mm_create();
	struct forking f = { .parent = parent, .child = child, .at_update = flush_at_update && flushes_at_update() };
	struct vma *vma;
	int error;

	if (!child)
		return NULL;
	current->next_mm = child;
	memcpy(&child->program, &parent->program, sizeof(child->program));
	if (parent->executable)
		child->executable = mm_files.program_held(parent->executable);

	error = mm_context_copy(&child->context, &parent->context);
	for_each_link_long(vma, error ? NULL : mm_first(parent), error ? NULL : mm_next(vma)) {
		if (!(vma->flags & VM_DONTFORK))
			error = copy_area(&f, vma);
		if (!error)
			fork_pause(&f);
	}
	/*
	 * The parent's private pages are read-only now: no cached entry may still permit a write. After an error this
	 * includes areas that were not reached, since a table that is shared holds their pages, too.
	 */
	parent->flush_reason = SHOOTDOWN_FORK;
	if (f.at_update || (f.flushed && !error))
		flush_copied(&f);
	else
		flush->whole(parent);
	if (error)
		leave_all_tables(child);
	check_tree(parent, "fork");
	check_tree(child, "fork");
	current->next_mm = NULL;
	if (error) {
		mm_put(child);
		return NULL;
	}
	return child;
}
