/* From a path to the dentry that it names. */
#include "internal.h"

#include <abi/fs.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>

static int start_at(int dirfd, const char *path, struct dentry **out)
{
	struct file *f;

	if (*path == '/') {
		*out = dentry_get(current->fs->root);
		return 0;
	}
	if (dirfd == AT_FDCWD) {
		*out = dentry_get(current->fs->cwd);
		return 0;
	}
	f = fd_get(dirfd);
	if (!f)
		return -EBADF;
	if (!S_ISDIR(f->inode->mode)) {
		file_put(f);
		return -ENOTDIR;
	}
	*out = dentry_get(f->dentry);
	file_put(f);
	return 0;
}

/* "..": a walk that stays below its start does not leave it. */
static struct dentry *step_up(const struct walk *w)
{
	if (w->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT) && w->dir == w->start)
		return w->resolve & RESOLVE_BENEATH ? ERR_PTR(-EXDEV) : dentry_get(w->dir);
	return dentry_parent(w->dir);
}

/* The child of the walk's directory by that name, mounts crossed; referenced, or ERR_PTR. */
static struct dentry *step_any(const struct walk *w, const char *name, size_t len)
{
	struct dentry *dir = w->dir, *d;

	if (len == 1 && name[0] == '.')
		return dentry_get(dir);
	if (len == 2 && name[0] == '.' && name[1] == '.')
		return step_up(w);
	d = dentry_find(dir, name, len);
	if (!d) {
		if (!dir->inode->ops->lookup)
			return ERR_PTR(-ENOENT);
		return dir->inode->ops->lookup(dir, name, len);
	}
	while (d->mounted)
		d = d->mounted->root;
	return dentry_get(d);
}

static struct dentry *walk_step(const struct walk *w, const char *name, size_t len)
{
	struct dentry *d = step_any(w, name, len);

	if (!IS_ERR(d) && w->resolve & RESOLVE_NO_XDEV && d->inode->fs != w->dir->inode->fs) {
		dentry_put(d);
		return ERR_PTR(-EXDEV);
	}
	return d;
}

struct dentry *walk_magic(const struct walk *w, struct dentry *link)
{
	if (w->resolve & (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS))
		return ERR_PTR(-ELOOP);
	if (w->resolve)
		return ERR_PTR(-EXDEV);		/* it may lead anywhere */
	return link->inode->ops->follow(link->inode);
}

/* An absolute path, from a link's text: where it starts. */
static int restart(struct walk *w)
{
	struct dentry *root = w->resolve & RESOLVE_IN_ROOT ? w->start : current->fs->root;

	if (w->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	if (w->resolve & RESOLVE_NO_XDEV && root->inode->fs != w->dir->inode->fs)
		return -EXDEV;
	dentry_put(w->dir);
	w->dir = dentry_get(root);
	return 0;
}

/* Replaces what is left of the walk's path by the link's text followed by `rest`. */
static int splice_link(struct walk *w, struct dentry *link, const char **path, const char *rest)
{
	size_t tail = strlen(rest);
	char *text;
	long len;

	if (w->resolve & RESOLVE_NO_SYMLINKS)
		return -ELOOP;
	text = kmalloc(PATH_MAX + tail + 2);
	if (!text)
		return -ENOMEM;
	len = link->inode->ops->readlink(link->inode, text, PATH_MAX);
	if (len <= 0) {
		kfree(text);
		return len ? (int)len : -ENOENT;
	}
	memcpy(text + len, rest, tail + 1);
	kfree(w->owned);
	w->owned = text;
	*path = text;
	return *text == '/' ? restart(w) : 0;
}

enum { STOP_BEFORE_LAST = 1, FOLLOW_LAST = 2 };

/*
 * Walks `path` from w->dir. With STOP_BEFORE_LAST the last component is left in
 * the walk; otherwise w->dir becomes what the path names.
 */
static int walk_on(struct walk *w, const char *path, unsigned how)
{
	for (;;) {
		const char *name, *rest;
		struct dentry *next;
		bool last, slash;
		size_t len;
		int error;

		while (*path == '/')
			path++;
		for (rest = path; *rest && *rest != '/'; rest++)
			;
		name = path;
		len = (size_t)(rest - path);
		slash = *rest == '/';
		for (path = rest; *path == '/'; path++)
			;
		last = !*path;
		if (len == 0) {		/* nothing but slashes, or an end after "link/" */
			w->len = 0;
			return 0;
		}
		if (!S_ISDIR(w->dir->inode->mode))
			return -ENOTDIR;
		error = inode_permission(w->dir->inode, MAY_EXEC);
		if (error)
			return error;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		if (last && how & STOP_BEFORE_LAST) {
			w->last = name;
			w->len = len;
			w->slash = slash;
			return 0;
		}
		next = walk_step(w, name, len);
		if (IS_ERR(next))
			return (int)PTR_ERR(next);
		if (S_ISLNK(next->inode->mode) && (!last || slash || how & FOLLOW_LAST)) {
			if (++w->links > SYMLINK_DEPTH_MAX) {
				dentry_put(next);
				return -ELOOP;
			}
			if (next->inode->ops->follow) {
				struct dentry *target = walk_magic(w, next);

				dentry_put(next);
				if (IS_ERR(target))
					return (int)PTR_ERR(target);
				next = target;
			} else {
				error = splice_link(w, next, &path, rest);
				dentry_put(next);
				if (error)
					return error;
				continue;
			}
		}
		dentry_put(w->dir);
		w->dir = next;
		if (last) {
			w->len = 0;
			return slash && !S_ISDIR(next->inode->mode) ? -ENOTDIR : 0;
		}
	}
}

static int walk_start(struct walk *w, int dirfd, const char *path)
{
	w->links = 0;
	w->owned = NULL;
	w->last = NULL;
	w->slash = false;
	w->dir = NULL;
	w->resolve = 0;
	w->start = NULL;
	if (!*path)
		return -ENOENT;
	return start_at(dirfd, path, &w->dir);
}

int walk_parent_resolving(struct walk *w, int dirfd, const char *path, u32 resolve)
{
	bool absolute = *path == '/';
	int error;

	if (absolute && resolve & RESOLVE_IN_ROOT) {
		while (*path == '/')
			path++;
		if (!*path)
			path = ".";
	}
	error = walk_start(w, dirfd, path);
	if (error)
		return error;
	if (absolute && resolve & RESOLVE_BENEATH)
		return -EXDEV;
	w->resolve = resolve;
	if (resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
		w->start = dentry_get(w->dir);
	return walk_on(w, path, STOP_BEFORE_LAST);
}

int path_lookup(int dirfd, const char *path, unsigned flags, struct dentry **out)
{
	struct walk w;
	int error = walk_start(&w, dirfd, path);

	if (!error)
		error = walk_on(&w, path, flags & WALK_FOLLOW ? FOLLOW_LAST : 0);
	if (!error && flags & WALK_DIRECTORY && !S_ISDIR(w.dir->inode->mode))
		error = -ENOTDIR;
	if (!error)
		*out = dentry_get(w.dir);
	walk_done(&w);
	return error;
}

int walk_parent(struct walk *w, int dirfd, const char *path)
{
	int error = walk_start(w, dirfd, path);

	return error ? error : walk_on(w, path, STOP_BEFORE_LAST);
}

struct dentry *walk_last(struct walk *w)
{
	return w->len ? walk_step(w, w->last, w->len) : dentry_get(w->dir);
}

int walk_follow(struct walk *w, struct dentry *link)
{
	const char *path;
	int error;

	if (++w->links > SYMLINK_DEPTH_MAX)
		return -ELOOP;
	error = splice_link(w, link, &path, w->slash ? "/" : "");
	return error ? error : walk_on(w, path, STOP_BEFORE_LAST);
}

void walk_done(struct walk *w)
{
	dentry_put(w->dir);
	if (w->start)
		dentry_put(w->start);
	kfree(w->owned);
	w->dir = w->start = NULL;
	w->owned = NULL;
}
