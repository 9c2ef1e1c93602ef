/* Reading directories and links; working directory and root. */
#include <abi/fs.h>
#include <err.h>
#include <file.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

/* Collects entries in a page. The directory must not change meanwhile, so nothing sleeps until the page is full. */
struct page_sink {
	struct dir_sink sink;
	char *at;
	size_t left;
	bool wide;              /* getdents64 */
	bool full;              /* an entry found no room */
};

static bool add_entry(struct dir_sink *sink, const char *name, size_t len, u64 ino, unsigned type, u64 next)
{
	struct page_sink *u = container_of(sink, struct page_sink, sink);
	size_t head = u->wide ? offsetof(struct dirent64, name) : offsetof(struct dirent32, name);
	size_t align = u->wide ? 8 : 4;
	size_t size = ALIGN_UP(head + len + (u->wide ? 1u : 2u), align);
	char *entry = u->at;

	if (len > NAME_MAX)
		return true;
	if (size > u->left) {
		u->full = true;
		return false;
	}
	memset(entry, 0, size);
	if (u->wide) {
		struct dirent64 *d = (struct dirent64 *)entry;

		d->ino = ino;
		d->next = (s64)next;
		d->size = (u16)size;
		d->type = (u8)type;
	} else {
		struct dirent32 *d = (struct dirent32 *)entry;

		d->ino = (u32)ino;
		d->next = (u32)next;
		d->size = (u16)size;
		entry[size - 1] = (char)type;
	}
	memcpy(entry + head, name, len);
	u->at += size;
	u->left -= size;
	return true;
}

/* Reads entries into a page and copies them to the caller; entries that cannot be copied do not count as read. */
static long give_entries(struct file *file, void *buffer, size_t size, bool wide)
{
	struct page_sink u = { .sink.add = add_entry, .left = MIN(size, (size_t)PAGE_SIZE), .wide = wide };
	char *page = kmalloc(PAGE_SIZE);
	u64 before = file->position;
	long result;

	if (!page)
		return -ENOMEM;
	u.at = page;
	result = file->ops->getdents(file, &u.sink);
	if (!result) {
		result = u.at - page;
		if (!result && u.full)
			result = -EINVAL;
		else if (copy_to_user(buffer, page, (size_t)result))
			result = -EFAULT;
		if (result < 0)
			file->position = before;
	}
	kfree(page);
	return result;
}

long sys_getdents_by(int fd, void *buffer, size_t size, bool wide)
{
	struct file *file = fd_get(fd);
	long result;

	if (!file)
		return -EBADF;
	if (file->flags & O_PATH)
		result = -EBADF;
	else if (!file->ops->getdents)
		result = -ENOTDIR;
	else if (file->dentry->parent != file->dentry && !file->dentry->linked && file->inode->nlink == 0)
		result = -ENOENT;
	else
		result = give_entries(file, buffer, size, wide);
	file_put(file);
	return result;
}

static int change_directory(struct dentry **place, const char *user_path)
{
	char *path = path_from_user(user_path);
	struct dentry *dentry;
	int error;

	if (IS_ERR(path))
		return (int)PTR_ERR(path);
	error = path_lookup(AT_FDCWD, path, WALK_FOLLOW | WALK_DIRECTORY, &dentry);
	kfree(path);
	if (error)
		return error;
	error = inode_permission(dentry->inode, MAY_EXEC);
	if (error) {
		dentry_put(dentry);
		return error;
	}
	dentry_put(*place);
	*place = dentry;
	return 0;
}

long sys_chdir(const char *path)
{
	return change_directory(&current->fs->cwd, path);
}

long sys_chroot(const char *path)
{
	return capable() ? change_directory(&current->fs->root, path) : -EPERM;
}

long sys_fchdir(int fd)
{
	struct file *file = fd_get(fd);
	int error;

	if (!file)
		return -EBADF;
	error = S_ISDIR(file->inode->mode) ? inode_permission(file->inode, MAY_EXEC) : -ENOTDIR;
	if (!error) {
		dentry_put(current->fs->cwd);
		current->fs->cwd = dentry_get(file->dentry);
	}
	file_put(file);
	return error;
}

/* Returns the length with the NUL, as the ABI does. */
long sys_getcwd(char *user, size_t size)
{
	struct dentry *cwd = current->fs->cwd;
	char *buffer, *path;
	size_t len;
	long result;

	if (!cwd->linked && cwd->parent != cwd && cwd->inode->nlink == 0)
		return -ENOENT;
	buffer = kmalloc(PATH_MAX);
	if (!buffer)
		return -ENOMEM;
	path = dentry_path(cwd, buffer, PATH_MAX);
	if (IS_ERR(path)) {
		result = PTR_ERR(path);
	} else {
		len = strlen(path) + 1;
		result = len > size ? -ERANGE : copy_to_user(user, path, len) ? -EFAULT : (long)len;
	}
	kfree(buffer);
	return result;
}

static long read_link(struct inode *inode, char *user, int size)
{
	char *buffer;
	long len;

	if (!inode->ops || !inode->ops->readlink)
		return -EINVAL;
	buffer = kmalloc(PATH_MAX);
	if (!buffer)
		return -ENOMEM;
	len = inode->ops->readlink(inode, buffer, PATH_MAX);
	if (len > size)
		len = size;
	if (len > 0 && copy_to_user(user, buffer, (size_t)len))
		len = -EFAULT;
	kfree(buffer);
	return len;
}

long sys_readlinkat(int dirfd, const char *user_path, char *buffer, int size)
{
	struct dentry *dentry;
	char *path;
	long result;

	if (size <= 0)
		return -EINVAL;
	path = path_from_user(user_path);
	if (IS_ERR(path))
		return PTR_ERR(path);
	if (!*path && dirfd != AT_FDCWD) {
		struct file *file = fd_get(dirfd);

		kfree(path);
		if (!file)
			return -EBADF;
		result = S_ISLNK(file->inode->mode) ? read_link(file->inode, buffer, size) : -ENOENT;
		file_put(file);
		return result;
	}
	result = path_lookup(dirfd, path, 0, &dentry);
	kfree(path);
	if (result)
		return result;
	result = S_ISLNK(dentry->inode->mode) ? read_link(dentry->inode, buffer, size) : -EINVAL;
	dentry_put(dentry);
	return result;
}
