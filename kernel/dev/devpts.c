/* devpts: a directory of the existing pseudo-terminals. Every mount shows the same ones. */
#include "pty.h"

#include <err.h>
#include <filesystem.h>
#include <lib.h>

#define DEVPTS_MAGIC 0x1cd1u

/* Inode numbers and directory positions start here: 0 and 1 are the dots. */
#define FIRST 3u

struct inode *pts_inode(struct pty *p)
{
	struct inode *i = inode_new(NULL, S_IFCHR | 0620, MKDEV(PTS_MAJOR, p->number));

	if (i) {
		i->ino = FIRST + p->number;
		i->fops = &pts_ops;
		i->data = p;
	}
	return i;
}

static struct dentry *devpts_lookup(struct dentry *dir, const char *name, size_t len)
{
	const struct pty *p;
	struct dentry *d;
	char text[12];

	list_for_each_entry(p, &ptys, link)
		if ((size_t)snprintf(text, sizeof(text), "%u", p->number) == len && !memcmp(text, name, len)) {
			d = dentry_new(dir, name, len, p->inode);
			return d ? d : ERR_PTR(-ENOMEM);
		}
	return ERR_PTR(-ENOENT);
}

static int devpts_getdents(struct file *f, struct dir_sink *sink)
{
	const struct pty *p;
	char name[12];

	if (f->position == 0) {
		if (!sink->add(sink, ".", 1, f->inode->ino, S_IFDIR >> 12, 1))
			return 0;
		f->position = 1;
	}
	if (f->position == 1) {
		struct dentry *above = dentry_parent(f->dentry);
		bool room = sink->add(sink, "..", 2, above->inode->ino, S_IFDIR >> 12, FIRST);

		dentry_put(above);
		if (!room)
			return 0;
		f->position = FIRST;
	}
	list_for_each_entry(p, &ptys, link) {
		u64 at = FIRST + p->number;

		if (at < f->position)
			continue;
		snprintf(name, sizeof(name), "%u", p->number);
		if (!sink->add(sink, name, strlen(name), at, S_IFCHR >> 12, at + 1))
			return 0;
		f->position = at + 1;
	}
	return 0;
}

static const struct inode_ops devpts_ops = { .lookup = devpts_lookup };
static const struct file_ops devpts_dir_ops = {
	.read = directory_read, .getdents = devpts_getdents, .seek = seek_endless,
};

struct filesystem *devpts_new(const char *source)
{
	struct filesystem *fs = filesystem_new("devpts", source, DEVPTS_MAGIC);
	struct inode *i = fs ? inode_new(fs, S_IFDIR | 0755, 0) : NULL;

	if (i) {
		i->ops = &devpts_ops;
		i->fops = &devpts_dir_ops;
		i->nlink = 2;
		fs->root = dentry_new(NULL, "", 0, i);
		inode_put(i);
	}
	if (fs && !fs->root) {
		filesystem_free(fs);
		return NULL;
	}
	return fs;
}
