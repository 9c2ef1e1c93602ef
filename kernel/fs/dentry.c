/* Names: the tree of directories in memory, and the hash table to look them up. */
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#include "internal.h"

#define BUCKETS 1024u

static struct dentry *dentry_table[BUCKETS];
u32 dentry_moves;

static u32 name_hash(const struct dentry *dir, const char *name, size_t len)
{
	u32 hash = (uintptr_t)dir >> 5 & 0xffffffffu;

	for (size_t i = 0; i < len; i++)
		hash = hash * 31 + (u8)name[i];
	return hash ^ hash >> 15;
}

struct dentry *dentry_new(struct dentry *parent, const char *name, size_t len, struct inode *inode)
{
	struct dentry *dentry = kzalloc(sizeof(*dentry));

	if (!dentry)
		return NULL;
	dentry->name = kmalloc_text(name, len);
	if (!dentry->name) {
		kfree(dentry);
		return NULL;
	}
	dentry->refs = 1;
	dentry->len = (u16)len;
	dentry->inode = inode_get(inode);
	dentry->parent = parent ? dentry_get(parent) : dentry;
	dentry->next_cookie = 3;        /* 1 and 2 are "." and ".." */
	list_init(&dentry->children);
	list_init(&dentry->sibling);
	return dentry;
}

static void dentry_end(struct deferred *ending)
{
	dentry_put(container_of(ending, struct dentry, ending));
}

void dentry_put(struct dentry *dentry)
{
	struct dentry *parent;

	if (!dentry || --dentry->refs)
		return;
	parent = dentry->parent;
	inode_put(dentry->inode);
	kfree(dentry->name);
	kfree(dentry);
	/* Many removed directories may end one after the other: other tasks run between two of them. */
	if (parent != dentry && parent->refs == 1)
		defer(&parent->ending, dentry_end);
	else if (parent != dentry)
		parent->refs--;
}

struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len)
{
	u32 hash = name_hash(dir, name, len);
	struct dentry *dentry;

	for_each_link_window(dentry, dentry_table[hash % BUCKETS], dentry->hash_next)
		if (dentry->hash == hash && dentry->parent == dir && dentry->len == len &&
		    !memcmp(dentry->name, name, len))
			return dentry;
	return NULL;
}

static void dentry_insert(struct dentry *dentry)
{
	dentry->hash = name_hash(dentry->parent, dentry->name, dentry->len);
	dentry->hash_next = dentry_table[dentry->hash % BUCKETS];
	dentry_table[dentry->hash % BUCKETS] = dentry;
	dentry->cookie = dentry->parent->next_cookie++;
	list_add_tail(&dentry->sibling, &dentry->parent->children);
	dentry->linked = true;
}

static struct dentry *child_before(const struct dentry *dentry)
{
	struct list_head *before = dentry->sibling.prev;

	return before == &dentry->parent->children ? NULL : list_entry(before, struct dentry, sibling);
}

static void take_out(struct dentry *dentry)
{
	struct dentry **at = &dentry_table[dentry->hash % BUCKETS];
	u32 passed = 0;

	while (*at != dentry) {
		interrupt_window_at(++passed);
		at = &(*at)->hash_next;
	}
	*at = dentry->hash_next;
	if (dentry->parent->listed == dentry)
		dentry->parent->listed = child_before(dentry);
	list_del(&dentry->sibling);
	dentry->linked = false;
}

/* Creates a name for the inode. The tree holds one reference; *out, if not NULL, gets another. */
int dentry_link(struct dentry *dir, const char *name, size_t len, struct inode *inode, struct dentry **out)
{
	struct dentry *dentry = dentry_new(dir, name, len, inode);

	if (!dentry)
		return -ENOMEM;
	dentry_insert(dentry);
	if (out)
		*out = dentry_get(dentry);
	return 0;
}

int dentry_unlink(struct dentry *dentry)
{
	take_out(dentry);
	dentry_put(dentry);
	return 0;
}

int dentry_move(struct dentry *dentry, struct dentry *dir, const char *name, size_t len)
{
	struct dentry *old = dentry->parent;
	char *copy;

	if (len > dentry->len && frames_short())
		return -ENOSPC;
	copy = kmalloc_text(name, len);
	if (!copy)
		return -ENOMEM;
	dentry_moves++;
	take_out(dentry);
	kfree(dentry->name);
	dentry->name = copy;
	dentry->len = (u16)len;
	dentry->parent = dentry_get(dir);
	dentry_insert(dentry);
	dentry_put(old);
	return 0;
}

int dentry_exchange(struct dentry *a, struct dentry *b)
{
	struct dentry *parent = a->parent;
	char *name = a->name;
	u16 len = a->len;

	dentry_moves++;
	take_out(a);
	take_out(b);
	a->parent = b->parent;
	a->name = b->name;
	a->len = b->len;
	b->parent = parent;
	b->name = name;
	b->len = len;
	dentry_insert(a);
	dentry_insert(b);
	return 0;
}

bool dentry_within(const struct dentry *dentry, const struct dentry *ancestor)
{
	u32 levels = 0;

	for (;;) {
		interrupt_window_at(++levels);
		if (dentry == ancestor)
			return true;
		if (dentry->parent != dentry)
			dentry = dentry->parent;
		else if (dentry->inode->fs && dentry->inode->fs->root == dentry && dentry->inode->fs->covers)
			dentry = dentry->inode->fs->covers;
		else
			return false;
	}
}

struct dentry *dentry_parent(struct dentry *dentry)
{
	if (dentry == current->fs->root)
		return dentry_get(dentry);
	while (dentry->parent == dentry && dentry->inode->fs && dentry->inode->fs->covers)
		dentry = dentry->inode->fs->covers;
	return dentry_get(dentry->parent);
}

char *dentry_path(struct dentry *dentry, char *buffer, size_t size)
{
	static const char deleted[] = " (deleted)";
	const struct dentry *root = current->fs->root;
	char *at = buffer + size;
	u32 levels = 0;

	if (size < sizeof(deleted) + 1)
		return ERR_PTR(-ENAMETOOLONG);
	*--at = 0;
	if (!dentry->linked && dentry->parent != dentry && dentry->inode->nlink == 0) {
		at -= sizeof(deleted) - 1;
		memcpy(at, deleted, sizeof(deleted) - 1);
	}
	bool first = true;

	for (;;) {
		struct filesystem *fs = dentry->inode->fs;

		interrupt_window_at(++levels);
		if (dentry == root || (dentry->parent == dentry && fs && fs->root == dentry && !fs->covers)) {
			if (first)
				*--at = '/';
			return at;
		}
		if (dentry->parent == dentry && fs && fs->root == dentry) {
			dentry = fs->covers;
			continue;
		}
		bool top = dentry->parent == dentry;    /* no directory: the name is the whole text */

		if ((size_t)(at - buffer) < (size_t)dentry->len + 2)
			return ERR_PTR(-ENAMETOOLONG);
		at -= dentry->len;
		memcpy(at, dentry->name, dentry->len);
		if (top)
			return at;
		*--at = '/';
		first = false;
		dentry = dentry->parent;
	}
}
