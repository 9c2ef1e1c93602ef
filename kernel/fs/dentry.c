/* Names: the tree of directories in memory, looked up through one hash table. */
#include "internal.h"

#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>

#define BUCKETS 1024u

static struct dentry *table[BUCKETS];

static u32 name_hash(const struct dentry *dir, const char *name, size_t len)
{
	u32 hash = (u32)(uintptr_t)dir >> 5;

	for (size_t i = 0; i < len; i++)
		hash = hash * 31 + (u8)name[i];
	return hash ^ hash >> 15;
}

struct dentry *dentry_new(struct dentry *parent, const char *name, size_t len, struct inode *inode)
{
	struct dentry *d = kzalloc(sizeof *d);

	if (!d)
		return NULL;
	d->name = kmalloc_text(name, len);
	if (!d->name) {
		kfree(d);
		return NULL;
	}
	d->refs = 1;
	d->len = (u16)len;
	d->inode = inode_get(inode);
	d->parent = parent ? dentry_get(parent) : d;
	d->next_cookie = 3;	/* 1 and 2 are "." and ".." */
	list_init(&d->children);
	list_init(&d->sibling);
	return d;
}

void dentry_put(struct dentry *d)
{
	while (d && --d->refs == 0) {
		struct dentry *parent = d->parent != d ? d->parent : NULL;

		inode_put(d->inode);
		kfree(d->name);
		kfree(d);
		d = parent;
	}
}

struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len)
{
	u32 hash = name_hash(dir, name, len);

	for (struct dentry *d = table[hash % BUCKETS]; d; d = d->hash_next)
		if (d->hash == hash && d->parent == dir && d->len == len && !memcmp(d->name, name, len))
			return d;
	return NULL;
}

static void dentry_insert(struct dentry *d)
{
	d->hash = name_hash(d->parent, d->name, d->len);
	d->hash_next = table[d->hash % BUCKETS];
	table[d->hash % BUCKETS] = d;
	d->cookie = d->parent->next_cookie++;
	list_add_tail(&d->sibling, &d->parent->children);
	d->linked = true;
}

static void take_out(struct dentry *d)
{
	struct dentry **at = &table[d->hash % BUCKETS];

	while (*at != d)
		at = &(*at)->hash_next;
	*at = d->hash_next;
	list_del(&d->sibling);
	d->linked = false;
}

/* A new name for the inode; the tree holds one reference, *out (if asked for) another. */
int dentry_link(struct dentry *dir, const char *name, size_t len, struct inode *inode, struct dentry **out)
{
	struct dentry *d = dentry_new(dir, name, len, inode);

	if (!d)
		return -ENOMEM;
	dentry_insert(d);
	if (out)
		*out = dentry_get(d);
	return 0;
}

void dentry_unlink(struct dentry *d)
{
	take_out(d);
	dentry_put(d);
}

int dentry_move(struct dentry *d, struct dentry *dir, const char *name, size_t len)
{
	char *copy = kmalloc_text(name, len);
	struct dentry *old = d->parent;

	if (!copy)
		return -ENOMEM;
	take_out(d);
	kfree(d->name);
	d->name = copy;
	d->len = (u16)len;
	d->parent = dentry_get(dir);
	dentry_insert(d);
	dentry_put(old);
	return 0;
}

bool dentry_within(const struct dentry *d, const struct dentry *ancestor)
{
	for (;;) {
		if (d == ancestor)
			return true;
		if (d->parent != d)
			d = d->parent;
		else if (d->inode->fs && d->inode->fs->root == d && d->inode->fs->covers)
			d = d->inode->fs->covers;
		else
			return false;
	}
}

struct dentry *dentry_parent(struct dentry *d)
{
	if (d == current->fs->root)
		return dentry_get(d);
	while (d->parent == d && d->inode->fs && d->inode->fs->covers)
		d = d->inode->fs->covers;
	return dentry_get(d->parent);
}

char *dentry_path(struct dentry *d, char *buffer, size_t size)
{
	static const char deleted[] = " (deleted)";
	const struct dentry *root = current->fs->root;
	char *at = buffer + size;

	if (size < sizeof deleted + 1)
		return ERR_PTR(-ENAMETOOLONG);
	*--at = 0;
	if (!d->linked && d->parent != d && d->inode->nlink == 0) {
		at -= sizeof deleted - 1;
		memcpy(at, deleted, sizeof deleted - 1);
	}
	bool first = true;

	for (;;) {
		struct filesystem *fs = d->inode->fs;

		if (d == root || (d->parent == d && fs && fs->root == d && !fs->covers)) {
			if (first)
				*--at = '/';
			return at;
		}
		if (d->parent == d && fs && fs->root == d) {
			d = fs->covers;
			continue;
		}
		bool top = d->parent == d;	/* nameless: the name is the whole text */

		if ((size_t)(at - buffer) < (size_t)d->len + 2)
			return ERR_PTR(-ENAMETOOLONG);
		at -= d->len;
		memcpy(at, d->name, d->len);
		if (top)
			return at;
		*--at = '/';
		first = false;
		d = d->parent;
	}
}
