/* Areas: creating, ordering, splitting and joining them, and finding room for new ones. */
#include <arch.h>
#include <errno.h>
#include <fs.h>
#include <kmalloc.h>
#include <lib.h>
#include <window.h>

#include "internal.h"

static struct vma *area_at(struct rb_node *node)
{
	return node ? rb_entry(node, struct vma, node) : NULL;
}

struct vma *vma_new(struct mm *mm, uaddr_t start, uaddr_t end, u32 flags)
{
	struct vma *vma;

	if (mm->area_count >= AREAS_MAX)
		return NULL;
	vma = kzalloc(sizeof(*vma));
	if (!vma)
		return NULL;
	list_init(&vma->mapping);
	vma->mm = mm;
	vma->start = start;
	vma->end = end;
	vma->flags = flags;
	return vma;
}

struct vma *vma_copy(const struct vma *vma)
{
	struct vma *copy = vma_new(vma->mm, vma->start, vma->end, vma->flags);

	if (!copy)
		return NULL;
	copy->file = vma->file;
	copy->inode = vma->inode;
	copy->first_page = vma->first_page;
	if (copy->flags & VM_KIND)
		area_of(copy)->copied(copy);
	return copy;
}

void vma_free(struct vma *vma)
{
	if (vma->flags & VM_KIND)
		area_of(vma)->release(vma);
	kfree(vma);
}

void vma_link(struct vma *vma)
{
	struct mm *mm = vma->mm;
	struct rb_node **link = &mm->areas.node, *parent = NULL;

	while (*link) {
		parent = *link;
		link = vma->start < area_at(parent)->start ? &parent->left : &parent->right;
	}
	rb_insert(&mm->areas, &vma->node, parent, link);
	mm->area_count++;
	mm->total_pages += page_count(vma->end - vma->start);
	if (vma->inode)
		list_add_tail(&vma->mapping, &vma->inode->mappings);
}

void vma_unlink(struct vma *vma)
{
	struct mm *mm = vma->mm;

	rb_erase(&mm->areas, &vma->node);
	list_del(&vma->mapping);
	mm->area_count--;
	mm->total_pages -= page_count(vma->end - vma->start);
	mm->last = NULL;
}

CAUSE(fault) struct vma *mm_find(struct mm *mm, uaddr_t address)
{
	struct rb_node *node = mm->areas.node;
	struct vma *found = area_last(mm, address);

	if (found)
		return found;
	while (node) {
		struct vma *vma = area_at(node);

		if (address < vma->end) {
			found = vma;
			if (vma->start <= address)
				break;
			node = node->left;
		} else {
			node = node->right;
		}
	}
	if (found)
		mm->last = found;
	return found;
}

struct vma *mm_first(struct mm *mm)
{
	return area_at(rb_first(&mm->areas));
}

struct vma *mm_next(struct vma *vma)
{
	return area_at(rb_next(&vma->node));
}

static struct vma *area_before(const struct vma *vma)
{
	return area_at(rb_prev(&vma->node));
}

int vma_split(struct vma *vma, uaddr_t address)
{
	struct vma *upper = vma_copy(vma);
	u32 pages = page_count(address - vma->start);

	if (!upper)
		return -ENOMEM;
	upper->start = address;
	upper->first_page += pages;
	vma->mm->total_pages -= page_count(vma->end - address);
	vma->end = address;
	rb_stale(&vma->node);
	vma_link(upper);
	return 0;
}

/* b begins where a ends, and everything else about them is equal. */
static bool can_join(const struct vma *a, const struct vma *b)
{
	u32 pages = page_count(a->end - a->start);

	return a->end == b->start && a->flags == b->flags && a->file == b->file && a->inode == b->inode &&
	       !(a->flags & (VM_DEVICE | VM_GROWSDOWN | VM_STACK)) &&
	       (!a->inode || a->first_page + pages == b->first_page) && !removal_keeps_apart(a->mm, b->start);
}

static void areas_join(struct vma *a, struct vma *b)
{
	uaddr_t end = b->end;

	vma_unlink(b);
	vma_free(b);
	/* A truncation (zap.c) may have passed a, but not b. At the list's end, it visits the joined area again. */
	if (a->inode) {
		list_del(&a->mapping);
		list_add_tail(&a->mapping, &a->inode->mappings);
	}
	a->mm->total_pages += page_count(end - a->end);
	a->end = end;
	rb_stale(&a->node);
}

struct vma *vma_merge(struct vma *vma)
{
	struct vma *next = mm_next(vma), *before = area_before(vma);

	if (next && can_join(vma, next))
		areas_join(vma, next);
	if (before && can_join(before, vma)) {
		areas_join(before, vma);
		vma = before;
	}
	return vma;
}

int areas_cut(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma = mm_find(mm, start);

	if (vma && vma->start < start && vma_split(vma, start))
		return -ENOMEM;
	vma = mm_find(mm, end - 1);
	if (vma && vma->start < end && vma->end > end && vma_split(vma, end))
		return -ENOMEM;
	return 0;
}

int areas_mark(struct mm *mm, uaddr_t start, uaddr_t end, u32 set, u32 clear)
{
	struct vma *vma;

	if (areas_cut(mm, start, end))
		return -ENOMEM;
	while ((vma = mm_find(mm, start)) && vma->start < end) {
		if ((set & VM_WIPEONFORK && (vma->inode || vma->flags & VM_SHARED)) ||
		    (clear & (VM_DONTFORK | VM_DONTDUMP) && vma->flags & VM_DEVICE))
			return -EINVAL;
		if (set & VM_LOCKED && vma->flags & VM_DEVICE) {
			start = vma->end;
			continue;
		}
		vma->flags = (vma->flags & ~clear) | set;
		start = vma_merge(vma)->end;
		/* Between the check against a limit and all of its marks, nobody else may lock memory. */
		if (!preemption_due() || set & VM_LOCKED || start >= end)
			continue;
		preemption_point();
		if (areas_cut(mm, start, end))
			return -ENOMEM;
	}
	return 0;
}

int areas_walk(struct mm *mm, uaddr_t address, uaddr_t end, enum area_holes holes, area_act *act, const void *how)
{
	int hole = 0;

	while (address < end) {
		struct vma *vma = mm_find(mm, address);

		if (!vma || vma->start > address)
			hole = -ENOMEM;
		if (!vma || vma->start >= end || (hole && holes == HOLES_END))
			break;
		address = act(vma, MAX(vma->start, address), MIN(vma->end, end), how);
		if (IS_ERR_VALUE(address))
			return (int)address;
		if (address < end)
			preemption_point();
	}
	return hole;
}

struct vma *area_after(struct vma *vma, u32 passed)
{
	struct mm *mm = vma->mm;
	uaddr_t end = vma->end;

	if (passed % WINDOW_STEPS || !preemption_due())
		return mm_next(vma);
	preemption_point();
	return mm_find(mm, end);
}

uaddr_t areas_cover_to(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 areas = 0;

	for (struct vma *vma = mm_find(mm, start); vma && vma->start <= start && start < end;
	     vma = area_after(vma, ++areas))
		start = vma->end;
	return MIN(start, end);
}

bool range_free(struct mm *mm, uaddr_t start, uaddr_t end)
{
	struct vma *vma = mm_find(mm, start);
	uaddr_t below = vma && vma->flags & VM_GROWSDOWN ? STACK_GAP : 0;

	return !vma || vma->start - MIN(below, vma->start) >= end;
}

/* The end of the free room below an area: its start, or STACK_GAP below the start of a stack; at most MMAP_TOP. */
static uaddr_t lower_bound(const struct vma *vma)
{
	uaddr_t below = vma->flags & VM_GROWSDOWN ? STACK_GAP : 0;

	return MIN(vma->start - MIN(below, vma->start), MMAP_TOP);
}

static uaddr_t upper_bound(const struct vma *vma)
{
	return MIN(vma->end, MMAP_TOP);
}

static uaddr_t gap_between(uaddr_t end, uaddr_t start)
{
	return start > end ? start - end : 0;
}

/*
 * Recomputes the bounds and the largest gap of the subtree at this area, whose children are up to date. True if one of
 * the three changed.
 */
static bool area_survey(struct vma *vma)
{
	const struct vma *left = area_at(vma->node.left), *right = area_at(vma->node.right);
	uaddr_t first = lower_bound(vma), last = upper_bound(vma);
	uaddr_t room = 0;
	bool news;

	if (left) {
		room = MAX(left->room, gap_between(left->last, first));
		first = left->first;
	}
	if (right) {
		room = MAX(room, MAX(right->room, gap_between(last, right->first)));
		last = right->last;
	}
	news = vma->first != first || vma->last != last || vma->room != room;
	vma->first = first;
	vma->last = last;
	vma->room = room;
	return news;
}

/* Done only when room is needed: most changes of an address space never need it. */
static void survey_stale(struct rb_node *node)
{
	static u32 surveyed;

	if (!node || !node->stale)
		return;
	interrupt_window_at(++surveyed);
	survey_stale(node->left);
	survey_stale(node->right);
	area_survey(area_at(node));
	node->stale = false;
}

bool areas_surveyed_right(struct mm *mm)
{
	for (struct vma *vma = mm_first(mm); vma; vma = mm_next(vma)) {
		const struct rb_node *up = vma->node.parent;

		if (vma->node.stale ? up && !up->stale : area_survey(vma))
			return false;
	}
	return true;
}

/* The end of the highest gap of size bytes, or else of the room below all areas; looks at each area. */
static uaddr_t room_by_walk(const struct mm *mm, uaddr_t size)
{
	uaddr_t top = MMAP_TOP;

	for (const struct vma *vma = area_at(rb_last(&mm->areas)); vma && gap_between(upper_bound(vma), top) < size;
	     vma = area_before(vma))
		top = lower_bound(vma);
	return top;
}

/* The same, by the largest gap of each subtree. */
static uaddr_t room_by_survey(struct mm *mm, uaddr_t size)
{
	const struct vma *vma, *right;
	uaddr_t top = MMAP_TOP;

	survey_stale(mm->areas.node);
	vma = area_at(mm->areas.node);
	/* The room between vma's subtree and top is too small. */
	while (vma && gap_between(vma->last, top) < size) {
		right = area_at(vma->node.right);
		if (right && right->room >= size) {
			vma = right;
			continue;
		}
		if (right)
			top = right->first;
		if (gap_between(upper_bound(vma), top) >= size)
			break;
		top = lower_bound(vma);
		vma = area_at(vma->node.left);
	}
	return top;
}

uaddr_t area_place(struct mm *mm, uaddr_t hint, uaddr_t size)
{
	uaddr_t top;

	hint = ALIGN_DOWN(hint, PAGE_SIZE);
	if (hint >= PAGE_SIZE && hint < USER_END && USER_END - hint >= size && range_free(mm, hint, hint + size))
		return hint;
	top = mm->area_count <= AREAS_WALKED ? room_by_walk(mm, size) : room_by_survey(mm, size);
	return gap_between(PAGE_SIZE, top) >= size ? top - size : 0;
}
