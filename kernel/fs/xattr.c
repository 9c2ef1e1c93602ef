/*
 * Extended attributes: named values of a file (xattr(7)). Inodes of RAM file systems can have them, in a list in order
 * of creation. Their names are long enough that each step of a walk opens a window.
 */
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
#include <window.h>

#include "internal.h"

/*
 * What an inode may have. Linux 5.9 and later set the same limits on user attributes of kernfs. All names together fit
 * into XATTR_LIST_MAX.
 */
#define XATTRS_MOST 128u
#define XATTRS_BYTES_MOST (128u << 10)

struct xattr {
	struct xattr *next;
	char *name;             /* behind the structure */
	size_t size;
	u8 value[];
};

void xattrs_free(struct inode *inode)
{
	while (inode->xattrs) {
		struct xattr *xattr = inode->xattrs;

		interrupt_window();
		inode->xattrs = xattr->next;
		kfree(xattr);
	}
}

static bool has_prefix(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

/*
 * Whether the caller may read or write the attribute. The rules of the name's space are checked before the file's
 * mode.
 */
static int xattr_permitted(const struct inode *inode, const char *name, unsigned may)
{
	bool writes = may == MAY_WRITE;

	if (writes && inode->fs && inode->fs->read_only)
		return -EROFS;
	if (has_prefix(name, "trusted."))
		return capable() ? 0 : writes ? -EPERM : -ENODATA;
	if (has_prefix(name, "security."))
		return writes && !capable() ? -EPERM : 0;
	if (!has_prefix(name, "user."))
		return inode_permission(inode, may);
	if (!S_ISREG(inode->mode) && !S_ISDIR(inode->mode))
		return writes ? -EPERM : -ENODATA;
	if (writes && S_ISDIR(inode->mode) && inode->mode & S_ISVTX && !may_change(inode))
		return -EPERM;
	return inode_permission(inode, may);
}

/* Whether this inode can have an attribute of this name: 0 or an error. */
static int xattr_offered(const struct inode *inode, const char *name)
{
	static const char *const spaces[] = { "user.", "trusted.", "security." };

	for (size_t n = 0; inode->fs && inode->fs->xattrs && n < ARRAY_SIZE(spaces); n++)
		if (has_prefix(name, spaces[n]))
			return name[strlen(spaces[n])] ? 0 : -EINVAL;
	return -EOPNOTSUPP;
}

static int xattr_name_from_user(char *name, const char *user)
{
	long length = strncpy_from_user(name, user, XATTR_NAME_MAX + 1);

	if (length == -ENAMETOOLONG || length == 0)
		return -ERANGE;
	return length < 0 ? (int)length : 0;
}

/* The link to the attribute, or the end of the list. */
static struct xattr **xattr_find(struct inode *inode, const char *name)
{
	struct xattr **at = &inode->xattrs;

	while (*at && strcmp((*at)->name, name)) {
		interrupt_window();
		at = &(*at)->next;
	}
	return at;
}

/* Whether the inode may have the attribute, in addition to its attributes or instead of `old`. */
static bool xattr_fits(const struct inode *inode, const struct xattr *fresh, const struct xattr *old)
{
	size_t bytes = fresh->size;
	u32 count = 1;

	for (const struct xattr *xattr = inode->xattrs; xattr; xattr = xattr->next)
		if (xattr != old) {
			count++;
			bytes += xattr->size;
		}
	return count <= XATTRS_MOST && bytes <= XATTRS_BYTES_MOST;
}

static struct xattr *xattr_new(const char *name, const void *value, size_t size)
{
	struct xattr *xattr;

	if (frames_short())
		return ERR_PTR(-ENOSPC);
	xattr = kmalloc(sizeof(*xattr) + size + strlen(name) + 1);
	if (!xattr)
		return ERR_PTR(-ENOMEM);
	xattr->next = NULL;
	xattr->size = size;
	xattr->name = (char *)xattr->value + size;
	strlcpy(xattr->name, name, strlen(name) + 1);
	if (size && copy_from_user_long(xattr->value, value, size)) {
		kfree(xattr);
		return ERR_PTR(-EFAULT);
	}
	return xattr;
}

static void xattr_changed(struct dentry *dentry)
{
	dentry->inode->ctime = file_time_now();
	note_file(dentry, IN_ATTRIB);
}

static long xattr_set(struct dentry *dentry, const char *user_name, const void *value, size_t size, u32 flags)
{
	struct inode *inode = dentry->inode;
	char name[XATTR_NAME_MAX + 1];
	struct xattr *xattr, **at;
	int error;

	if (flags & ~(XATTR_CREATE | XATTR_REPLACE))
		return -EINVAL;
	error = xattr_name_from_user(name, user_name);
	if (error)
		return error;
	if (size > XATTR_SIZE_MAX)
		return -E2BIG;
	error = xattr_permitted(inode, name, MAY_WRITE);
	if (!error)
		error = xattr_offered(inode, name);
	if (error)
		return error;
	/* Copy first: copying may sleep, and the list may change meanwhile. */
	xattr = xattr_new(name, value, size);
	if (IS_ERR(xattr))
		return PTR_ERR(xattr);
	at = xattr_find(inode, name);
	if (*at ? flags & XATTR_CREATE : flags & XATTR_REPLACE) {
		kfree(xattr);
		return *at ? -EEXIST : -ENODATA;
	}
	if (!xattr_fits(inode, xattr, *at)) {
		kfree(xattr);
		return -ENOSPC;
	}
	if (*at) {
		struct xattr *old = *at;

		xattr->next = old->next;
		kfree(old);
	}
	*at = xattr;
	xattr_changed(dentry);
	return 0;
}

static void copy_long(u8 *to, const u8 *from, size_t n)
{
	for_each_piece_long(done, n, PAGE_SIZE)
		memcpy(to + done, from + done, MIN(n - done, (size_t)PAGE_SIZE));
}

static long xattr_get(struct dentry *dentry, const char *user_name, void *value, size_t room)
{
	struct inode *inode = dentry->inode;
	char name[XATTR_NAME_MAX + 1];
	const struct xattr *xattr;
	u8 *copy;
	long result;
	int error = xattr_name_from_user(name, user_name);

	if (!error)
		error = xattr_permitted(inode, name, MAY_READ);
	if (!error)
		error = xattr_offered(inode, name);
	if (error)
		return error;
	xattr = *xattr_find(inode, name);
	if (!xattr)
		return -ENODATA;
	if (!room || !xattr->size)
		return (long)xattr->size;
	if (xattr->size > room)
		return -ERANGE;
	/* Copy the value first: the copy to the program may sleep, and the attribute may be replaced meanwhile. */
	copy = kmalloc(xattr->size);
	if (!copy)
		return -ENOMEM;
	result = (long)xattr->size;
	copy_long(copy, xattr->value, xattr->size);
	if (copy_to_user_long(value, copy, (size_t)result))
		result = -EFAULT;
	kfree(copy);
	return result;
}

static long xattr_list(struct dentry *dentry, char *names, size_t room)
{
	const struct xattr *xattr;
	size_t size = 0;
	char *copy;
	long result;

	for_each_link_long(xattr, dentry->inode->xattrs, xattr->next)
		if (capable() || !has_prefix(xattr->name, "trusted."))
			size += strlen(xattr->name) + 1;
	if (!room || !size)
		return (long)size;
	if (size > room)
		return -ERANGE;
	copy = kmalloc(size);
	if (!copy)
		return -ENOMEM;
	size = 0;
	for_each_link_long(xattr, dentry->inode->xattrs, xattr->next)
		if (capable() || !has_prefix(xattr->name, "trusted."))
			size += strlcpy(copy + size, xattr->name, strlen(xattr->name) + 1) + 1;
	result = copy_to_user_long(names, copy, size) ? -EFAULT : (long)size;
	kfree(copy);
	return result;
}

static long take_away(struct dentry *dentry, const char *user_name)
{
	struct inode *inode = dentry->inode;
	char name[XATTR_NAME_MAX + 1];
	struct xattr *xattr, **at;
	int error = xattr_name_from_user(name, user_name);

	if (!error)
		error = xattr_permitted(inode, name, MAY_WRITE);
	if (!error)
		error = xattr_offered(inode, name);
	if (error)
		return error;
	at = xattr_find(inode, name);
	xattr = *at;
	if (!xattr)
		return -ENODATA;
	*at = xattr->next;
	kfree(xattr);
	xattr_changed(dentry);
	return 0;
}

/* The twelve calls differ in how they name the file: AT_EMPTY_PATH in `how` is a file of that descriptor. */
static int xattr_file(int fd, const char *path, u32 how, struct dentry **out)
{
	struct file *file;
	int error;

	if (!(how & AT_EMPTY_PATH))
		return lookup_user(fd, path, how, out);
	file = fd_get(fd);
	error = !file || file->flags & O_PATH ? -EBADF : 0;
	if (!error)
		*out = dentry_get(file->dentry);
	file_put(file);
	return error;
}

#define WITH_FILE(call)                                         \
	({                                                      \
		struct dentry *d;                               \
		long result_ = xattr_file(fd, path, how, &d);   \
		if (!result_) {                                 \
			result_ = (call);                       \
			dentry_put(d);                          \
		}                                               \
		result_;                                        \
	})

long sys_setxattr_by(int fd, const char *path, u32 how, const char *name, const void *value, size_t size, u32 flags)
{
	return WITH_FILE(xattr_set(d, name, value, size, flags));
}

long sys_getxattr_by(int fd, const char *path, u32 how, const char *name, void *value, size_t size)
{
	return WITH_FILE(xattr_get(d, name, value, size));
}

long sys_listxattr_by(int fd, const char *path, u32 how, char *names, size_t size)
{
	return WITH_FILE(xattr_list(d, names, size));
}

long sys_removexattr_by(int fd, const char *path, u32 how, const char *name)
{
	return WITH_FILE(take_away(d, name));
}
