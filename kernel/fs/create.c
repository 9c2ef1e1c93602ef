/* Creating, removing and renaming names. */
#include <abi/fs.h>
#include <err.h>
#include <file.h>
#include <frame.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>

#include "internal.h"

#define LINK_MAX 32000u

static bool is_dot(const char *name, size_t len)
{
	return len == 1 && name[0] == '.';
}

static bool is_dot_dot(const char *name, size_t len)
{
	return len == 2 && name[0] == '.' && name[1] == '.';
}

/* Whether names in this directory may be created and removed: 0 or an error. */
static int may_write_directory(const struct dentry *dir)
{
	int error;

	if (dir->inode->fs && dir->inode->fs->read_only)
		return -EROFS;
	error = inode_permission(dir->inode, MAY_WRITE | MAY_EXEC);
	if (error)
		return error;
	return dir->inode->ops->make ? 0 : -EPERM;
}

/* Whether a name may be removed: in a sticky directory, only the owner of the file or of the directory may. */
static int may_remove(const struct dentry *dir, const struct dentry *victim)
{
	int error = may_write_directory(dir);

	if (error)
		return error;
	if (dir->inode->mode & S_ISVTX && current->cred.fsuid != victim->inode->uid &&
	    current->cred.fsuid != dir->inode->uid && !capable())
		return -EPERM;
	return 0;
}

/* Creates a name for a new inode. The name must not exist. */
int inode_make(struct dentry *dir, const char *name, size_t len, u32 mode, u32 rdev, struct dentry **out)
{
	struct inode *inode;
	int error = may_write_directory(dir);

	if (error)
		return error;
	if (!dir->linked && dir->parent != dir)
		return -ENOENT;         /* the directory has been removed */
	inode = dir->inode->ops->make(dir->inode, mode, rdev);
	if (!inode)
		return -ENOSPC;
	if (dir->inode->mode & S_ISGID) {
		inode->gid = dir->inode->gid;
		if (S_ISDIR(mode))
			inode->mode |= S_ISGID;
	}
	error = dir->inode->ops->link(dir, name, len, inode, out);
	inode_put(inode);
	if (!error) {
		inode_touch(dir->inode, true);
		note_name(dir->inode, IN_CREATE, name, len, S_ISDIR(mode));
	}
	return error;
}

int make_directory(struct dentry *dir, const char *name, size_t len, u32 mode, struct dentry **out)
{
	struct dentry *dentry;
	int error;

	if (dir->inode->nlink >= LINK_MAX)
		return -EMLINK;
	error = inode_make(dir, name, len, S_IFDIR | mode, 0, &dentry);
	if (error)
		return error;
	dentry->inode->nlink = 2;
	dir->inode->nlink++;
	if (out)
		*out = dentry;
	else
		dentry_put(dentry);
	return 0;
}

int make_link_text(struct dentry *dir, const char *name, size_t len, const char *text, struct dentry **out)
{
	struct dentry *dentry;
	int error = inode_make(dir, name, len, S_IFLNK | 0777, 0, &dentry);

	if (error)
		return error;
	error = ramfs_set_link_text(dentry->inode, text, strlen(text));
	if (error) {
		dentry->inode->nlink = 0;
		dir->inode->ops->unlink(dentry);
	}
	if (!error && out)
		*out = dentry;
	else
		dentry_put(dentry);
	return error;
}

/* Walks to a name that is to be created: EEXIST if it exists. */
static int walk_to_new(struct walk *walk, int dirfd, const char *path)
{
	struct dentry *dentry;
	int error = walk_parent(walk, dirfd, path);

	if (error)
		return error;
	if (walk->len == 0)
		return -EEXIST;
	dentry = walk_last(walk);
	if (!IS_ERR(dentry)) {
		dentry_put(dentry);
		return -EEXIST;
	}
	return PTR_ERR(dentry) == -ENOENT ? 0 : (int)PTR_ERR(dentry);
}

long sys_mkdirat(int dirfd, const char *user_path, u32 mode)
{
	char *path = path_from_user(user_path);
	struct walk w;
	int error;

	if (IS_ERR(path))
		return PTR_ERR(path);
	error = walk_to_new(&w, dirfd, path);
	if (!error)
		error = make_directory(w.dir, w.last, w.len, mode & 01777 & ~current->fs->umask, NULL);
	walk_done(&w);
	kfree(path);
	return error;
}

/* The ABI's 32-bit device numbers: bits 0-7 and 20-31 are the minor, 8-19 the major. */
static u32 device_from_user(u32 device)
{
	return MKDEV(device >> 8 & 0xfff, (device & 0xff) | (device >> 12 & 0xfff00));
}

u32 device_to_user(u32 device)
{
	return (MINOR(device) & 0xff) | MAJOR(device) << 8 | (MINOR(device) & ~0xffu) << 12;
}

long sys_mknodat(int dirfd, const char *user_path, u32 mode, u32 device)
{
	char *path;
	struct walk w;
	int error;

	if ((mode & S_IFMT) == 0)
		mode |= S_IFREG;
	if (S_ISDIR(mode))
		return -EPERM;
	if (!S_ISREG(mode) && !S_ISFIFO(mode) && !S_ISSOCK(mode) && !S_ISCHR(mode) && !S_ISBLK(mode))
		return -EINVAL;
	if ((S_ISCHR(mode) || S_ISBLK(mode)) && !capable())
		return -EPERM;
	path = path_from_user(user_path);
	if (IS_ERR(path))
		return PTR_ERR(path);
	error = walk_to_new(&w, dirfd, path);
	if (!error && w.slash)
		error = -ENOENT;
	if (!error)
		error = inode_make(w.dir, w.last, w.len, (mode & S_IFMT) | (mode & 07777 & ~current->fs->umask),
				   S_ISCHR(mode) || S_ISBLK(mode) ? device_from_user(device) : 0, NULL);
	walk_done(&w);
	kfree(path);
	return error;
}

long sys_symlinkat(const char *user_text, int dirfd, const char *user_path)
{
	char *text = path_from_user(user_text), *path;
	struct walk w;
	int error;

	if (IS_ERR(text))
		return PTR_ERR(text);
	path = path_from_user(user_path);
	if (IS_ERR(path)) {
		kfree(text);
		return PTR_ERR(path);
	}
	if (!*text) {
		error = -ENOENT;
	} else {
		error = walk_to_new(&w, dirfd, path);
		if (!error && w.slash)
			error = -ENOENT;
		if (!error)
			error = make_link_text(w.dir, w.last, w.len, text, NULL);
		walk_done(&w);
	}
	kfree(path);
	kfree(text);
	return error;
}

/* Other tasks may have removed the file's last name during the path walks: such a file gets no new name. */
static int link_inode(struct dentry *from, struct walk *walk)
{
	struct inode *inode = from->inode;
	int error;

	if (S_ISDIR(inode->mode))
		return -EPERM;
	if (inode->fs != walk->dir->inode->fs)
		return -EXDEV;
	if (walk->slash)
		return -ENOENT;
	error = may_write_directory(walk->dir);
	if (error)
		return error;
	if (!inode->nlink && !inode->linkable)
		return -ENOENT;
	if (inode->nlink >= LINK_MAX)
		return -EMLINK;
	if (!walk->dir->linked && walk->dir->parent != walk->dir)
		return -ENOENT;
	if (frames_short())
		return -ENOSPC;
	error = walk->dir->inode->ops->link(walk->dir, walk->last, walk->len, inode, NULL);
	if (error)
		return error;
	inode->nlink++;
	inode->linkable = false;
	inode->ctime = file_time_now();
	inode_touch(walk->dir->inode, true);
	note_file(from, IN_ATTRIB);
	note_name(walk->dir->inode, IN_CREATE, walk->last, walk->len, false);
	return 0;
}

/* For calls with two paths. */
static int paths_from_user(const char *user_old, const char *user_new, char **old, char **new)
{
	*old = path_from_user(user_old);
	if (IS_ERR(*old))
		return (int)PTR_ERR(*old);
	*new = path_from_user(user_new);
	if (!IS_ERR(*new))
		return 0;
	kfree(*old);
	return (int)PTR_ERR(*new);
}

long sys_linkat(int old_dirfd, const char *user_old, int new_dirfd, const char *user_new, u32 flags)
{
	char *old, *path;
	struct dentry *from = NULL;
	struct walk w;
	int error;

	if (flags & ~(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH))
		return -EINVAL;
	error = paths_from_user(user_old, user_new, &old, &path);
	if (error)
		return error;
	if (!*old && flags & AT_EMPTY_PATH)
		error = dentry_of_fd(old_dirfd, &from);
	else
		error = path_lookup(old_dirfd, old, flags & AT_SYMLINK_FOLLOW ? WALK_FOLLOW : 0, &from);
	if (!error) {
		error = walk_to_new(&w, new_dirfd, path);
		if (!error)
			error = link_inode(from, &w);
		walk_done(&w);
		dentry_put(from);
	}
	kfree(path);
	kfree(old);
	return error;
}

/* Removes the name and decrements the link count. The caller holds a reference to the victim. */
static int drop_name(struct dentry *dir, struct dentry *victim)
{
	struct inode *inode = victim->inode;
	int error = dir->inode->ops->unlink(victim);

	if (error)
		return error;
	if (S_ISDIR(inode->mode)) {
		inode->nlink = 0;
		dir->inode->nlink--;
	} else {
		inode->nlink--;
	}
	inode->ctime = file_time_now();
	inode_touch(dir->inode, true);
	note_name(dir->inode, IN_DELETE, victim->name, victim->len, S_ISDIR(inode->mode));
	if (inotify_watches && !S_ISDIR(inode->mode))
		inotify_name(inode, IN_ATTRIB, 0, NULL, 0, false);
	return 0;
}

void inode_unmake(struct dentry *dentry)
{
	drop_name(dentry->parent, dentry);
}

static int remove_last(struct walk *walk, bool directory)
{
	struct dentry *victim;
	int error;

	if (walk->len == 0)
		return directory ? -EBUSY : -EISDIR;
	if (is_dot(walk->last, walk->len))
		return directory ? -EINVAL : -EISDIR;
	if (is_dot_dot(walk->last, walk->len))
		return directory ? -ENOTEMPTY : -EISDIR;
	victim = walk_last(walk);
	if (IS_ERR(victim))
		return (int)PTR_ERR(victim);
	error = 0;
	if (!victim->linked)
		error = victim->parent == victim ? -EBUSY : -EPERM;     /* a mount point; a name of /proc */
	else if (victim->parent != walk->dir)
		error = -EBUSY;
	else
		error = may_remove(walk->dir, victim);
	if (!error) {
		if (directory && !S_ISDIR(victim->inode->mode))
			error = -ENOTDIR;
		else if (directory)
			error = victim->inode->ops->empty(victim);
		else if (S_ISDIR(victim->inode->mode))
			error = -EISDIR;
		else if (walk->slash)
			error = -ENOTDIR;
	}
	if (!error)
		error = drop_name(walk->dir, victim);
	dentry_put(victim);
	return error;
}

static int remove_path(int dirfd, const char *path, bool directory)
{
	struct walk w;
	int error = walk_parent(&w, dirfd, path);

	if (!error)
		error = remove_last(&w, directory);
	walk_done(&w);
	return error;
}

int file_unlink(const char *path)
{
	return remove_path(AT_FDCWD, path, false);
}

static long remove_at(int dirfd, const char *user_path, bool directory)
{
	char *path = path_from_user(user_path);
	int error;

	if (IS_ERR(path))
		return PTR_ERR(path);
	error = remove_path(dirfd, path, directory);
	kfree(path);
	return error;
}

long sys_unlinkat(int dirfd, const char *path, u32 flags)
{
	if (flags & ~AT_REMOVEDIR)
		return -EINVAL;
	return remove_at(dirfd, path, flags & AT_REMOVEDIR);
}

/* Whether a rename may replace the target: it must be of the same kind, and empty. */
static int may_replace(const struct dentry *from, const struct dentry *target)
{
	bool is_dir = S_ISDIR(from->inode->mode), onto_dir = S_ISDIR(target->inode->mode);

	if (target->parent == target || !target->linked)
		return -EBUSY;
	if (is_dir && !onto_dir)
		return -ENOTDIR;
	if (!is_dir && onto_dir)
		return -EISDIR;
	return onto_dir ? target->inode->ops->empty(target) : 0;
}

static void directory_moved(const struct dentry *d, struct dentry *from, struct dentry *to)
{
	if (!S_ISDIR(d->inode->mode) || from == to)
		return;
	from->inode->nlink--;
	to->inode->nlink++;
}

/* Exchanges two names: the dentries swap places. This takes no memory, so that it cannot fail half-way. */
static int rename_exchange(struct dentry *a, struct walk *from_walk, struct dentry *b, struct walk *to_walk)
{
	int error;

	/* A mount point, or a name that is in no directory, is not exchanged. */
	if (b->parent != to_walk->dir || !b->linked)
		return -EBUSY;
	if (dentry_within(to_walk->dir, a) || dentry_within(from_walk->dir, b))
		return -EINVAL;
	error = a->parent->inode->ops->exchange(a, b);
	if (error)
		return error;
	directory_moved(a, from_walk->dir, to_walk->dir);
	directory_moved(b, to_walk->dir, from_walk->dir);
	b->inode->ctime = file_time_now();
	if (inotify_watches) {
		inotify_move(from_walk->dir->inode, from_walk->last, from_walk->len, a);
		inotify_move(to_walk->dir->inode, to_walk->last, to_walk->len, b);
	}
	return 0;
}

static int rename_found(struct dentry *from, struct walk *from_walk, struct dentry *target, struct walk *to_walk,
			u32 flags)
{
	struct dentry *old_dir = from_walk->dir, *new_dir = to_walk->dir;
	int error = may_remove(old_dir, from);

	if (!error)
		error = target ? may_remove(new_dir, target) : may_write_directory(new_dir);
	if (error)
		return error;
	if (from->parent != old_dir || !from->linked)
		return -EBUSY;
	if (from->inode->fs != new_dir->inode->fs)
		return -EXDEV;
	if (!S_ISDIR(from->inode->mode) && (from_walk->slash || to_walk->slash))
		return -ENOTDIR;
	if (S_ISDIR(from->inode->mode) && dentry_within(new_dir, from))
		return -EINVAL;
	if (!new_dir->linked && new_dir->parent != new_dir)
		return -ENOENT;
	if (target && target->inode == from->inode)
		return 0;
	if (flags & RENAME_EXCHANGE)
		return target ? rename_exchange(from, from_walk, target, to_walk) : -ENOENT;
	if (target) {
		if (dentry_within(old_dir, target))
			return -ENOTEMPTY;
		error = may_replace(from, target);
		if (error)
			return error;
	}
	error = new_dir->inode->ops->rename(from, new_dir, to_walk->last, to_walk->len);
	if (!error && target)
		error = drop_name(new_dir, target);
	if (error)
		return error;
	directory_moved(from, old_dir, new_dir);
	if (inotify_watches)
		inotify_move(old_dir->inode, from_walk->last, from_walk->len, from);
	return 0;
}

static bool plain_name(const struct walk *walk)
{
	return walk->len && !is_dot(walk->last, walk->len) && !is_dot_dot(walk->last, walk->len);
}

static int rename_walked(struct walk *from_walk, struct walk *to_walk, u32 flags)
{
	struct dentry *from, *target;
	int error;

	if (!plain_name(from_walk) || !plain_name(to_walk))
		return -EBUSY;
	from = walk_last(from_walk);
	if (IS_ERR(from))
		return (int)PTR_ERR(from);
	target = walk_last(to_walk);
	if (IS_ERR(target) && PTR_ERR(target) != -ENOENT) {
		dentry_put(from);
		return (int)PTR_ERR(target);
	}
	if (IS_ERR(target))
		target = NULL;
	error = target && flags & RENAME_NOREPLACE ? -EEXIST : rename_found(from, from_walk, target, to_walk, flags);
	if (!error) {
		from->inode->ctime = file_time_now();
		inode_touch(from_walk->dir->inode, true);
		inode_touch(to_walk->dir->inode, true);
	}
	dentry_put(target);
	dentry_put(from);
	return error;
}

long sys_renameat2(int old_dirfd, const char *user_old, int new_dirfd, const char *user_new, u32 flags)
{
	char *old, *path;
	struct walk from_walk, to_walk;
	int error;

	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE) || flags == (RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	error = paths_from_user(user_old, user_new, &old, &path);
	if (error)
		return error;
	error = walk_parent(&from_walk, old_dirfd, old);
	if (!error) {
		error = walk_parent(&to_walk, new_dirfd, path);
		if (!error)
			error = rename_walked(&from_walk, &to_walk, flags);
		walk_done(&to_walk);
	}
	walk_done(&from_walk);
	kfree(path);
	kfree(old);
	return error;
}
