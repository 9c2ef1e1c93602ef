/* Files without a name (memfd_create), and seals: what nobody will do to a file any more (fcntl(2), F_ADD_SEALS). */
#include "internal.h"

#include <abi/fs.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <syscall.h>

static bool has_seals(const struct file *f)
{
	return S_ISREG(f->inode->mode) && f->ops == &ramfs_file_ops;
}

/* Every other file in memory has the one seal that no further ones can be added. */
static u32 seals_of(const struct inode *i)
{
	return i->sealable ? i->seals : F_SEAL_SEAL;
}

long seals_get(const struct file *f)
{
	return has_seals(f) ? (long)seals_of(f->inode) : -EINVAL;
}

long seals_add(struct file *f, u32 seals)
{
	long error;

	if (!FILE_WRITES(f))
		return -EPERM;
	if (seals & ~F_SEALS || !has_seals(f))
		return -EINVAL;
	/* A write that has begun sleeps where its memory is missing: no seal may come in the middle of it. */
	error = mutex_lock_killable(&f->inode->writing);
	if (error)
		return error;
	if (seals_of(f->inode) & F_SEAL_SEAL)
		error = -EPERM;
	else if (seals & ~f->inode->seals & F_SEAL_WRITE && mm_may_write_inode(f->inode))
		error = -EBUSY;
	else
		f->inode->seals |= seals;
	mutex_unlock(&f->inode->writing);
	return error;
}

int seals_check_write(const struct inode *i, u64 end)
{
	if (i->seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || (i->seals & F_SEAL_GROW && end > i->size))
		return -EPERM;
	return 0;
}

int seals_check_size(const struct inode *i, u64 size)
{
	if ((i->seals & F_SEAL_SHRINK && size < i->size) || (i->seals & F_SEAL_GROW && size > i->size))
		return -EPERM;
	return 0;
}

int seals_check_map(const struct inode *i, struct file_map *map)
{
	if (!map->shared || !(i->seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)))
		return 0;
	map->never_written = true;
	return map->write ? -EPERM : 0;
}

#define MEMFD_NAME_MAX 249u

long sys_memfd_create(const char *user_name, u32 flags)
{
	char *name;
	struct inode *i;
	struct file *f;
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
	i = inode_anonymous(0);
	if (!i)
		return -ENOMEM;
	i->sealable = flags & MFD_ALLOW_SEALING;
	f = file_on_inode(i, "/memfd", O_RDWR | O_LARGEFILE, &ramfs_file_ops, NULL);
	inode_put(i);
	return fd_add(f, flags & MFD_CLOEXEC);
}
