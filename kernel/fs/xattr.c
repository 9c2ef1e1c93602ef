/*
 * Extended attributes: named values beside a file's contents (xattr(7)). A RAM file system's inodes have them; they
 * lie in a list in the order in which they were made.
 */
#include "internal.h"

#include <abi/fs.h>
#include <err.h>
#include <file.h>
#include <frame.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

struct xattr {
	struct xattr *next;
	char *name;		/* lies behind the structure */
	size_t size;
	u8 value[];
};

void xattrs_free(struct inode *i)
{
	while (i->xattrs) {
		struct xattr *x = i->xattrs;

		i->xattrs = x->next;
		kfree(x);
	}
}

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/* Whether the caller may read or write the attribute; what the name space says comes before the file's mode. */
static int permitted(const struct inode *i, const char *name, unsigned may)
{
	bool writes = may == MAY_WRITE;

	if (writes && i->fs && i->fs->read_only)
		return -EROFS;
	if (has_prefix(name, "trusted."))
		return capable() ? 0 : writes ? -EPERM : -ENODATA;
	if (has_prefix(name, "security."))
		return writes && !capable() ? -EPERM : 0;
	if (!has_prefix(name, "user."))
		return inode_permission(i, may);
	if (!S_ISREG(i->mode) && !S_ISDIR(i->mode))
		return writes ? -EPERM : -ENODATA;
	if (writes && S_ISDIR(i->mode) && i->mode & S_ISVTX && !may_change(i))
		return -EPERM;
	return inode_permission(i, may);
}

/* Whether this inode can have an attribute of this name. */
static int offered(const struct inode *i, const char *name)
{
	static const char *const spaces[] = { "user.", "trusted.", "security." };

	for (size_t n = 0; i->fs && i->fs->xattrs && n < ARRAY_SIZE(spaces); n++)
		if (has_prefix(name, spaces[n]))
			return name[strlen(spaces[n])] ? 0 : -EINVAL;
	return -EOPNOTSUPP;
}

static int name_from_user(char *name, const char *user)
{
	long length = strncpy_from_user(name, user, XATTR_NAME_MAX + 1);

	if (length == -ENAMETOOLONG || length == 0)
		return -ERANGE;
	return length < 0 ? (int)length : 0;
}

/* The link that leads to the attribute, or to the list's end. */
static struct xattr **xattr_find(struct inode *i, const char *name)
{
	struct xattr **at = &i->xattrs;

	while (*at && strcmp((*at)->name, name))
		at = &(*at)->next;
	return at;
}

static struct xattr *make(const char *name, const void *value, size_t size)
{
	struct xattr *x;

	if (frames_short())
		return ERR_PTR(-ENOSPC);
	x = kmalloc(sizeof(*x) + size + strlen(name) + 1);
	if (!x)
		return ERR_PTR(-ENOMEM);
	x->next = NULL;
	x->size = size;
	x->name = (char *)x->value + size;
	strlcpy(x->name, name, strlen(name) + 1);
	if (size && copy_from_user(x->value, value, size)) {
		kfree(x);
		return ERR_PTR(-EFAULT);
	}
	return x;
}

static void changed(struct dentry *d)
{
	d->inode->ctime = file_time_now();
	note_file(d, IN_ATTRIB);
}

static long set(struct dentry *d, const char *user_name, const void *value, size_t size, u32 flags)
{
	struct inode *i = d->inode;
	char name[XATTR_NAME_MAX + 1];
	struct xattr *x, **at;
	int error;

	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	error = name_from_user(name, user_name);
	if (error)
		return error;
	if (size > XATTR_SIZE_MAX)
		return -E2BIG;
	error = permitted(i, name, MAY_WRITE);
	if (!error)
		error = offered(i, name);
	if (error)
		return error;
	/* The copy may sleep; the list is looked at after it. */
	x = make(name, value, size);
	if (IS_ERR(x))
		return PTR_ERR(x);
	at = xattr_find(i, name);
	if (*at ? flags & XATTR_CREATE : flags & XATTR_REPLACE) {
		kfree(x);
		return *at ? -EEXIST : -ENODATA;
	}
	if (*at) {
		struct xattr *old = *at;

		x->next = old->next;
		kfree(old);
	}
	*at = x;
	changed(d);
	return 0;
}

static long get(struct dentry *d, const char *user_name, void *value, size_t room)
{
	struct inode *i = d->inode;
	char name[XATTR_NAME_MAX + 1];
	const struct xattr *x;
	u8 *copy;
	long result;
	int error = name_from_user(name, user_name);

	if (!error)
		error = permitted(i, name, MAY_READ);
	if (!error)
		error = offered(i, name);
	if (error)
		return error;
	x = *xattr_find(i, name);
	if (!x)
		return -ENODATA;
	if (!room || !x->size)
		return (long)x->size;
	if (x->size > room)
		return -ERANGE;
	/* The copy to the program may sleep, and the attribute be replaced meanwhile. */
	copy = kmalloc(x->size);
	if (!copy)
		return -ENOMEM;
	result = (long)x->size;
	memcpy(copy, x->value, x->size);
	if (copy_to_user(value, copy, (size_t)result))
		result = -EFAULT;
	kfree(copy);
	return result;
}

static long list(struct dentry *d, char *names, size_t room)
{
	const struct xattr *x;
	size_t size = 0;
	char *copy;
	long result;

	for (x = d->inode->xattrs; x; x = x->next)
		if (capable() || !has_prefix(x->name, "trusted."))
			size += strlen(x->name) + 1;
	if (!room || !size)
		return (long)size;
	if (size > room)
		return -ERANGE;
	copy = kmalloc(size);
	if (!copy)
		return -ENOMEM;
	size = 0;
	for (x = d->inode->xattrs; x; x = x->next)
		if (capable() || !has_prefix(x->name, "trusted."))
			size += strlcpy(copy + size, x->name, strlen(x->name) + 1) + 1;
	result = copy_to_user(names, copy, size) ? -EFAULT : (long)size;
	kfree(copy);
	return result;
}

static long take_away(struct dentry *d, const char *user_name)
{
	struct inode *i = d->inode;
	char name[XATTR_NAME_MAX + 1];
	struct xattr *x, **at;
	int error = name_from_user(name, user_name);

	if (!error)
		error = permitted(i, name, MAY_WRITE);
	if (!error)
		error = offered(i, name);
	if (error)
		return error;
	at = xattr_find(i, name);
	x = *at;
	if (!x)
		return -ENODATA;
	*at = x->next;
	kfree(x);
	changed(d);
	return 0;
}

/* What the twelve calls differ in: how they name the file. */
static int by_path(const char *path, u32 flags, struct dentry **out)
{
	return lookup_user(AT_FDCWD, path, flags, out);
}

static int by_fd(int fd, struct dentry **out)
{
	struct file *f = fd_get(fd);
	int error = !f || f->flags & O_PATH ? -EBADF : 0;

	if (!error)
		*out = dentry_get(f->dentry);
	file_put(f);
	return error;
}

#define WITH_FILE(lookup, call)          \
	({                               \
		struct dentry *d;        \
		long result_ = (lookup); \
		if (!result_) {          \
			result_ = (call); \
			dentry_put(d);   \
		}                        \
		result_;                 \
	})

long sys_setxattr(const char *path, const char *name, const void *value, size_t size, u32 flags)
{
	return WITH_FILE(by_path(path, 0, &d), set(d, name, value, size, flags));
}

long sys_lsetxattr(const char *path, const char *name, const void *value, size_t size, u32 flags)
{
	return WITH_FILE(by_path(path, AT_SYMLINK_NOFOLLOW, &d), set(d, name, value, size, flags));
}

long sys_fsetxattr(int fd, const char *name, const void *value, size_t size, u32 flags)
{
	return WITH_FILE(by_fd(fd, &d), set(d, name, value, size, flags));
}

long sys_getxattr(const char *path, const char *name, void *value, size_t size)
{
	return WITH_FILE(by_path(path, 0, &d), get(d, name, value, size));
}

long sys_lgetxattr(const char *path, const char *name, void *value, size_t size)
{
	return WITH_FILE(by_path(path, AT_SYMLINK_NOFOLLOW, &d), get(d, name, value, size));
}

long sys_fgetxattr(int fd, const char *name, void *value, size_t size)
{
	return WITH_FILE(by_fd(fd, &d), get(d, name, value, size));
}

long sys_listxattr(const char *path, char *names, size_t size)
{
	return WITH_FILE(by_path(path, 0, &d), list(d, names, size));
}

long sys_llistxattr(const char *path, char *names, size_t size)
{
	return WITH_FILE(by_path(path, AT_SYMLINK_NOFOLLOW, &d), list(d, names, size));
}

long sys_flistxattr(int fd, char *names, size_t size)
{
	return WITH_FILE(by_fd(fd, &d), list(d, names, size));
}

long sys_removexattr(const char *path, const char *name)
{
	return WITH_FILE(by_path(path, 0, &d), take_away(d, name));
}

long sys_lremovexattr(const char *path, const char *name)
{
	return WITH_FILE(by_path(path, AT_SYMLINK_NOFOLLOW, &d), take_away(d, name));
}

long sys_fremovexattr(int fd, const char *name)
{
	return WITH_FILE(by_fd(fd, &d), take_away(d, name));
}
