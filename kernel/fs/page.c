/* The page cache: the frame of each page of a file. */
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <outside.h>
#include <window.h>

#include "internal.h"

#define SLOT_BITS 6
#define SLOTS (1u << SLOT_BITS)

struct page_node {
	u32 used;
	void *slot[SLOTS];
};

static bool page_tree_covers(const struct page_tree *tree, u32 page)
{
	return !(likely(tree->bits < 32) && page >> tree->bits);
}

static inline struct frame *tree_find(const struct page_tree *tree, u32 page)
{
	void *at = tree->root;
	u32 bits = tree->bits;

	if (unlikely(!page_tree_covers(tree, page)))
		return NULL;
	while (bits && at) {
		bits -= SLOT_BITS;
		at = ((struct page_node *)at)->slot[page >> bits & (SLOTS - 1)];
	}
	return at;
}

struct frame *page_find(const struct page_tree *tree, u32 page)
{
	return tree_find(tree, page);
}

/* Finds the first page from `*page` on below a slot and sets `*page` to it; false: there is none. */
static bool next_below(const void *at, u32 level, u32 base, u32 *page)
{
	const struct page_node *node = at;
	u32 shift;

	if (level == 0) {
		*page = base;
		return true;
	}
	shift = (level - 1) * SLOT_BITS;
	for (u32 i = 0; i < SLOTS; i++) {
		u32 start = base + (i << shift);

		if (node->slot[i] && start + (((u32)1 << shift) - 1) >= *page &&
		    next_below(node->slot[i], level - 1, start, page))
			return true;
	}
	return false;
}

bool page_next(const struct page_tree *tree, u32 *page)
{
	return tree->root && page_tree_covers(tree, *page) && next_below(tree->root, tree->bits / SLOT_BITS, 0, page);
}

static int page_tree_grow(struct page_tree *tree, u32 page)
{
	int error = 0;

	if (page_tree_covers(tree, page))
		return 0;
	outside_close();
	while (!error && !page_tree_covers(tree, page)) {
		struct page_node *node = tree->root ? kzalloc(sizeof(*node)) : NULL;

		if (tree->root && !node) {
			error = -ENOMEM;
			continue;
		}
		if (node) {
			node->slot[0] = tree->root;
			node->used = 1;
			tree->root = node;
		}
		tree->bits += SLOT_BITS;
	}
	outside_open();
	return error;
}

/* Fills an empty slot: whoever finds it there outside of the kernel lock also sees what it leads to. */
static void slot_fill(void **slot, void *with)
{
	if (outside_bound())
		arch_memory_barrier();
	*slot = with;
}

/* Finds the slot of a page and creates the nodes above it; NULL: no memory. *used: the count of its node, if any. */
static void **make_slot(struct page_tree *tree, u32 page, u32 **used)
{
	void **slot = &tree->root;

	*used = NULL;
	if (page_tree_grow(tree, page))
		return NULL;
	for (u32 bits = tree->bits; bits; bits -= SLOT_BITS) {
		struct page_node *node = *slot;

		if (!node) {
			node = kzalloc(sizeof(*node));
			if (!node)
				return NULL;
			slot_fill(slot, node);
			if (*used)
				++**used;
		}
		*used = &node->used;
		slot = &node->slot[page >> (bits - SLOT_BITS) & (SLOTS - 1)];
	}
	return slot;
}

/* The tree takes over the reference to the frame; the page must be absent. */
int page_insert(struct page_tree *tree, u32 page, struct frame *frame)
{
	u32 *used;
	void **slot = make_slot(tree, page, &used);

	if (!slot)
		return -ENOMEM;
	slot_fill(slot, frame);
	if (used)
		++*used;
	return 0;
}

/* Frees the nodes above the page's slot that have become, or remained, empty. */
static void page_tree_trim(struct page_tree *tree, u32 page)
{
	struct page_node *above[(32 + SLOT_BITS - 1) / SLOT_BITS];
	void **slot = &tree->root, **from[ARRAY_SIZE(above)];
	u32 count = 0;

	if (!page_tree_covers(tree, page))
		return;
	for (u32 bits = tree->bits; bits && *slot; bits -= SLOT_BITS) {
		from[count] = slot;
		above[count++] = *slot;
		slot = &above[count - 1]->slot[page >> (bits - SLOT_BITS) & (SLOTS - 1)];
	}
	while (count-- && !above[count]->used) {
		*from[count] = NULL;
		kfree(above[count]);
		if (count)
			above[count - 1]->used--;
	}
	if (!tree->root)
		tree->bits = 0;
}

static void trim_range(struct page_tree *tree, u32 first, u32 end)
{
	outside_close();
	for (u32 page = first; page < end; page = (page | (SLOTS - 1)) + 1) {
		interrupt_window();
		page_tree_trim(tree, page);
	}
	outside_open();
}

int page_prepare(struct page_tree *tree, u32 first, u32 end)
{
	u32 *used;

	for (u32 page = first; page < end; page = (page | (SLOTS - 1)) + 1) {
		interrupt_window();
		if (!make_slot(tree, page, &used)) {
			trim_range(tree, first, end);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Frees pages from `first` on below one slot, while *left lasts; returns the new value of the slot. */
static void *page_tree_prune(void *at, u32 level, u32 base, u32 first, u32 *left)
{
	struct page_node *node = at;

	if (!at)
		return NULL;
	if (level == 0) {
		if (base < first)
			return at;
		frame_put(at);
		--*left;
		return NULL;
	}
	u32 shift = (level - 1) * SLOT_BITS;

	for (u32 i = 0; i < SLOTS && node->used && *left; i++) {
		u32 start = base + (i << shift);
		u32 last = start + ((u32)1 << shift) - 1;

		interrupt_window_at(start);
		if (!node->slot[i] || last < first)
			continue;
		node->slot[i] = page_tree_prune(node->slot[i], level - 1, start, first, left);
		if (!node->slot[i])
			node->used--;
	}
	if (node->used)
		return node;
	kfree(node);
	return NULL;
}

u32 page_drop_from(struct page_tree *tree, u32 first, u32 most)
{
	u32 left = most;

	if (!tree->root) {
		tree->bits = 0;
		return 0;
	}
	outside_close();
	tree->root = page_tree_prune(tree->root, tree->bits / SLOT_BITS, 0, first, &left);
	if (!tree->root)
		tree->bits = 0;
	outside_open();
	return most - left;
}

int inode_add_page(struct inode *inode, u32 page, struct frame *frame)
{
	int error = page_insert(&inode->pages, page, frame);

	if (error)
		return error;
	inode->page_count++;
	if (inode->fs)
		inode->fs->pages++;
	return 0;
}

/* Brings a page that is not in the cache there. ERR_PTR on error. */
NOINLINE static struct frame *page_bring(struct inode *inode, u32 page)
{
	struct frame *frame = inode->ops->read_page(inode, page);
	int error;

	if (IS_ERR(frame))
		return frame;
	error = inode_add_page(inode, page, frame);
	if (!error)
		return frame;
	frame_put(frame);
	return ERR_PTR(error);
}

int inode_page(struct inode *inode, u32 page, struct frame **out)
{
	struct frame *frame = tree_find(&inode->pages, page);

	while (!frame) {
		frame = page_bring(inode, page);
		if (frame == ERR_PTR(-EAGAIN))
			frame = tree_find(&inode->pages, page);
	}
	if (IS_ERR(frame))
		return (int)PTR_ERR(frame);
	*out = frame_get(frame);
	return 0;
}

struct frame *object_present(const struct vma *vma, u32 page)
{
	struct inode *inode = vma->inode;

	return (u64)page << PAGE_SHIFT < inode->size ? tree_find(&inode->pages, page) : NULL;
}

struct frame *object_fault(const struct vma *vma, u32 page)
{
	struct inode *inode = vma->inode;
	struct frame *frame;

	/* The first comparison, of 32 bits, decides for all pages but a file's last. */
	if (page >= (u32)(inode->size >> PAGE_SHIFT) && (u64)page << PAGE_SHIFT >= inode->size)
		return ERR_PTR(-ENXIO);
	frame = tree_find(&inode->pages, page);
	if (frame) {
		__builtin_prefetch(frame, 1);
		return frame;
	}
	/*
	 * When memory is short, a hole is not filled in a file that outlives the process that wrote it: to kill that
	 * process would free nothing.
	 */
	if ((inode->fs || inode->lasting) && frames_short())
		return ERR_PTR(-ENXIO);
	return page_bring(inode, page);
}
