/* devpts: a directory of the existing pseudo-terminals. Every mount shows the same ones. */
#include <err.h>
#include <filesystem.h>
#include <lib.h>

#include "pty.h"

/* Inode numbers and directory positions start here: 0 and 1 are the dots. */
#define FIRST 3u

struct inode *pts_inode(struct pty *pty)
{
	struct inode *inode = inode_new(NULL, S_IFCHR | 0620, MKDEV(PTS_MAJOR, pty->number));

	if (inode) {
		inode->ino = FIRST + pty->number;
		inode->fops = &pts_ops;
		inode->data = pty;
	}
	return inode;
}

static struct dentry *devpts_lookup(struct dentry *dir, const char *name, size_t len)
{
	const struct pty *pty;
	struct dentry *dentry;
	char text[12];

	list_for_each_entry(pty, &ptys, link)
		if ((size_t)snprintf(text, sizeof(text), "%u", pty->number) == len && !memcmp(text, name, len)) {
			dentry = dentry_new(dir, name, len, pty->inode);
			return dentry ? dentry : ERR_PTR(-ENOMEM);
		}
	return ERR_PTR(-ENOENT);
}

static int devpts_getdents(struct file *file, struct dir_sink *sink)
{
	const struct pty *pty;
	char name[12];

	if (file->position == 0) {
		if (!sink->add(sink, ".", 1, file->inode->ino, S_IFDIR >> 12, 1))
			return 0;
		file->position = 1;
	}
	if (file->position == 1) {
		struct dentry *above = dentry_parent(file->dentry);
		bool room = sink->add(sink, "..", 2, above->inode->ino, S_IFDIR >> 12, FIRST);

		dentry_put(above);
		if (!room)
			return 0;
		file->position = FIRST;
	}
	list_for_each_entry(pty, &ptys, link) {
		u64 at = FIRST + pty->number;

		if (at < file->position)
			continue;
		snprintf(name, sizeof(name), "%u", pty->number);
		if (!sink->add(sink, name, strlen(name), at, S_IFCHR >> 12, at + 1))
			return 0;
		file->position = at + 1;
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
	struct inode *inode = fs ? inode_new(fs, S_IFDIR | 0755, 0) : NULL;

	if (inode) {
		inode->ops = &devpts_ops;
		inode->fops = &devpts_dir_ops;
		inode->nlink = 2;
		fs->root = dentry_new(NULL, "", 0, inode);
		inode_put(inode);
	}
	if (fs && !fs->root) {
		filesystem_free(fs);
		return NULL;
	}
	return fs;
}
