/*
 * Files without a name (memfd_create), and seals, which forbid operations on a file for good (fcntl(2), F_ADD_SEALS).
 */
#include <abi/fs.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <syscall.h>

#include "internal.h"

static bool has_seals(const struct file *file)
{
	return S_ISREG(file->inode->mode) && file->ops == &ramfs_file_ops;
}

/* The seals of a file. Any file in memory that was not made sealable has F_SEAL_SEAL: no seal can be added. */
static u32 seals_of(const struct inode *inode)
{
	return inode->sealable ? inode->seals : F_SEAL_SEAL;
}

long seals_get(const struct file *file)
{
	return has_seals(file) ? (long)seals_of(file->inode) : -EINVAL;
}

long seals_add(struct file *file, u32 seals)
{
	long error;

	if (!FILE_WRITES(file))
		return -EPERM;
	if (seals & ~F_SEALS || !has_seals(file))
		return -EINVAL;
	/* A write may sleep while its memory is faulted in: wait for it before adding a seal. */
	error = mutex_lock_killable(&file->inode->writing);
	if (error)
		return error;
	if (seals_of(file->inode) & F_SEAL_SEAL)
		error = -EPERM;
	else if (seals & ~file->inode->seals & F_SEAL_WRITE && mm_may_write_inode(file->inode))
		error = -EBUSY;
	else
		file->inode->seals |= seals;
	mutex_unlock(&file->inode->writing);
	return error;
}

int seals_check_write(const struct inode *inode, u64 end)
{
	if (inode->seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || (inode->seals & F_SEAL_GROW && end > inode->size))
		return -EPERM;
	return 0;
}

int seals_check_size(const struct inode *inode, u64 size)
{
	if ((inode->seals & F_SEAL_SHRINK && size < inode->size) || (inode->seals & F_SEAL_GROW && size > inode->size))
		return -EPERM;
	return 0;
}

int seals_check_map(const struct inode *inode, struct file_map *map)
{
	if (!map->shared || !(inode->seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)))
		return 0;
	map->never_written = true;
	return map->write ? -EPERM : 0;
}

#define MEMFD_NAME_MAX 249u

long sys_memfd_create(const char *user_name, u32 flags)
{
	char *name;
	struct inode *inode;
	struct file *file;
	size_t len;

	if (flags & ~(MFD_CLOEXEC | MFD_ALLOW_SEALING))
		return -EINVAL;
	name = path_from_user(user_name);
	if (IS_ERR(name))
		return PTR_ERR(name);
	len = strlen(name);
	kfree(name);
	if (len > MEMFD_NAME_MAX)
		return -EINVAL;
	inode = inode_anonymous(0);
	if (!inode)
		return -ENOMEM;
	inode->sealable = flags & MFD_ALLOW_SEALING;
	file = file_on_inode(inode, "/memfd", O_RDWR | O_LARGEFILE, &ramfs_file_ops, NULL);
	inode_put(inode);
	return fd_add(file, flags & MFD_CLOEXEC);
}
