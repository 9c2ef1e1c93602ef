/* Walking a path to the dentry that it names. */
#include <abi/fs.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#include "internal.h"

static int start_at(int dirfd, const char *path, struct dentry **out)
{
	struct file *file;

	if (*path == '/') {
		*out = dentry_get(current->fs->root);
		return 0;
	}
	if (dirfd == AT_FDCWD) {
		*out = dentry_get(current->fs->cwd);
		return 0;
	}
	file = fd_get(dirfd);
	if (!file)
		return -EBADF;
	if (!S_ISDIR(file->inode->mode)) {
		file_put(file);
		return -ENOTDIR;
	}
	*out = dentry_get(file->dentry);
	file_put(file);
	return 0;
}

/*
 * Steps to "..", but not above the start of a walk that must stay below it. Others run in a walk, and may move its
 * directory to a place outside: -EAGAIN.
 */
static struct dentry *step_up(struct walk *walk)
{
	if (!walk->start)
		return dentry_parent(walk->dir);
	if (walk->dir == walk->start)
		return walk->resolve & RESOLVE_BENEATH ? ERR_PTR(-EXDEV) : dentry_get(walk->dir);
	if (walk->moves != dentry_moves && !dentry_within(walk->dir, walk->start))
		return ERR_PTR(-EAGAIN);
	walk->moves = dentry_moves;
	return dentry_parent(walk->dir);
}

/* The child with this name of the walk's directory, crossing mounts; referenced, or ERR_PTR. */
static struct dentry *step_any(struct walk *walk, const char *name, size_t len)
{
	struct dentry *dir = walk->dir, *d;

	if (len == 1 && name[0] == '.')
		return dentry_get(dir);
	if (len == 2 && name[0] == '.' && name[1] == '.')
		return step_up(walk);
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

static struct dentry *walk_step(struct walk *walk, const char *name, size_t len)
{
	struct dentry *dentry = step_any(walk, name, len);

	if (!IS_ERR(dentry) && walk->resolve & RESOLVE_NO_XDEV && dentry->inode->fs != walk->dir->inode->fs) {
		dentry_put(dentry);
		return ERR_PTR(-EXDEV);
	}
	return dentry;
}

struct dentry *walk_magic(const struct walk *walk, struct dentry *link)
{
	if (walk->resolve & (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS))
		return ERR_PTR(-ELOOP);
	if (walk->resolve)
		return ERR_PTR(-EXDEV);         /* the link's target may be anywhere */
	return link->inode->ops->follow(link->inode);
}

/* Restarts at the root for a link with an absolute path. */
static int walk_restart(struct walk *walk)
{
	struct dentry *root = walk->resolve & RESOLVE_IN_ROOT ? walk->start : current->fs->root;

	if (walk->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	if (walk->resolve & RESOLVE_NO_XDEV && root->inode->fs != walk->dir->inode->fs)
		return -EXDEV;
	dentry_put(walk->dir);
	walk->dir = dentry_get(root);
	return 0;
}

/* Lets other tasks run, then replaces the rest of the walk's path by the link's text followed by `rest`. */
static int splice_link(struct walk *walk, struct dentry *link, const char **path, const char *rest)
{
	size_t tail = strlen(rest);
	char *text;
	long len;

	if (walk->resolve & RESOLVE_NO_SYMLINKS)
		return -ELOOP;
	preemption_point();
	text = kmalloc(PATH_MAX + tail + 2);
	if (!text)
		return -ENOMEM;
	len = link->inode->ops->readlink(link->inode, text, PATH_MAX);
	if (len <= 0) {
		kfree(text);
		return len ? (int)len : -ENOENT;
	}
	memcpy(text + len, rest, tail + 1);
	kfree(walk->owned);
	walk->owned = text;
	*path = text;
	return *text == '/' ? walk_restart(walk) : 0;
}

enum { STOP_BEFORE_LAST = 1, FOLLOW_LAST = 2 };

/*
 * Walks `path` from the walk's directory. With STOP_BEFORE_LAST the last component remains in the walk; otherwise its
 * directory becomes the path's target.
 */
static int walk_on(struct walk *walk, const char *path, unsigned how)
{
	for (u32 steps = 1;; steps++) {
		const char *name, *rest;
		struct dentry *next;
		bool last, slash;
		size_t len;
		int error;

		interrupt_window_at(steps);
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
		if (len == 0) {         /* only slashes, or the end after "link/" */
			walk->len = 0;
			return 0;
		}
		if (!S_ISDIR(walk->dir->inode->mode))
			return -ENOTDIR;
		error = inode_permission(walk->dir->inode, MAY_EXEC);
		if (error)
			return error;
		if (len > NAME_MAX)
			return -ENAMETOOLONG;
		if (last && how & STOP_BEFORE_LAST) {
			walk->last = name;
			walk->len = len;
			walk->slash = slash;
			return 0;
		}
		next = walk_step(walk, name, len);
		if (IS_ERR(next))
			return (int)PTR_ERR(next);
		if (S_ISLNK(next->inode->mode) && (!last || slash || how & FOLLOW_LAST)) {
			if (++walk->links > SYMLINK_DEPTH_MAX) {
				dentry_put(next);
				return -ELOOP;
			}
			if (next->inode->ops->follow) {
				struct dentry *target = walk_magic(walk, next);

				dentry_put(next);
				if (IS_ERR(target))
					return (int)PTR_ERR(target);
				next = target;
			} else {
				error = splice_link(walk, next, &path, rest);
				dentry_put(next);
				if (error)
					return error;
				continue;
			}
		}
		dentry_put(walk->dir);
		walk->dir = next;
		if (last) {
			walk->len = 0;
			return slash && !S_ISDIR(next->inode->mode) ? -ENOTDIR : 0;
		}
	}
}

static int walk_start(struct walk *walk, int dirfd, const char *path)
{
	walk->links = 0;
	walk->owned = NULL;
	walk->last = NULL;
	walk->slash = false;
	walk->dir = NULL;
	walk->resolve = 0;
	walk->start = NULL;
	walk->moves = dentry_moves;
	if (!*path)
		return -ENOENT;
	return start_at(dirfd, path, &walk->dir);
}

/* Starts a walk with RESOLVE_* limits, and sets *path to the rest that is to be walked. */
static int walk_start_resolving(struct walk *walk, int dirfd, const char **path, u32 resolve)
{
	bool absolute = **path == '/';
	int error;

	if (absolute && resolve & RESOLVE_IN_ROOT) {
		while (**path == '/')
			(*path)++;
		if (!**path)
			*path = ".";
	}
	error = walk_start(walk, dirfd, *path);
	if (error)
		return error;
	if (absolute && resolve & RESOLVE_BENEATH)
		return -EXDEV;
	walk->resolve = resolve;
	if (resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT))
		walk->start = dentry_get(walk->dir);
	return 0;
}

int walk_parent_resolving(struct walk *walk, int dirfd, const char *path, u32 resolve)
{
	int error = walk_start_resolving(walk, dirfd, &path, resolve);

	return error ? error : walk_on(walk, path, STOP_BEFORE_LAST);
}

int path_lookup_resolving(int dirfd, const char *path, unsigned flags, u32 resolve, struct dentry **out)
{
	struct walk w;
	int error = walk_start_resolving(&w, dirfd, &path, resolve);

	if (!error)
		error = walk_on(&w, path, flags & WALK_FOLLOW ? FOLLOW_LAST : 0);
	if (!error && flags & WALK_DIRECTORY && !S_ISDIR(w.dir->inode->mode))
		error = -ENOTDIR;
	if (!error)
		*out = dentry_get(w.dir);
	walk_done(&w);
	return error;
}

int path_lookup(int dirfd, const char *path, unsigned flags, struct dentry **out)
{
	return path_lookup_resolving(dirfd, path, flags, 0, out);
}

int walk_parent(struct walk *walk, int dirfd, const char *path)
{
	int error = walk_start(walk, dirfd, path);

	return error ? error : walk_on(walk, path, STOP_BEFORE_LAST);
}

struct dentry *walk_last(struct walk *walk)
{
	return walk->len ? walk_step(walk, walk->last, walk->len) : dentry_get(walk->dir);
}

int walk_follow(struct walk *walk, struct dentry *link)
{
	const char *path;
	int error;

	if (++walk->links > SYMLINK_DEPTH_MAX)
		return -ELOOP;
	error = splice_link(walk, link, &path, walk->slash ? "/" : "");
	return error ? error : walk_on(walk, path, STOP_BEFORE_LAST);
}

void walk_done(struct walk *walk)
{
	dentry_put(walk->dir);
	if (walk->start)
		dentry_put(walk->start);
	kfree(walk->owned);
	walk->dir = walk->start = NULL;
	walk->owned = NULL;
}
