/* System V shared memory: a segment is an unnamed file, an attachment a shared mapping of it. */
#include <abi/sysv.h>
#include <abi/sysv_status.h>
#include <anon.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <window.h>

#include "sysv.h"
#include "sysv_calls.h"

struct segment {
	struct sysv_perm perm;
	struct inode *inode;
	u32 size;                       /* bytes, as asked for */
	struct list_head attachments;   /* struct attachment */
	s64 attached, detached;
	s32 creator, last;
	bool doomed;                    /* IPC_RMID: removed when the last attachment ends */
};

/* An attachment's file: each area that maps it holds one reference. */
struct attachment {
	struct list_head link;
	struct segment *segment;
	struct file *file;              /* not referenced */
};

static struct sysv_table shared_segments;

static u32 count_attachments(const struct segment *segment)
{
	const struct attachment *a;
	u32 n = 0;

	list_for_each_window(a, &segment->attachments, link)
		n += a->file->refs;
	return n;
}

static void free_segment(struct segment *segment)
{
	inode_put(segment->inode);
	kfree(segment);
}

/* Frees a removed segment without attachments. Until then it keeps its identifier, as on Linux. */
static void drop_if_unused(struct segment *segment)
{
	if (!segment->doomed || !list_empty(&segment->attachments))
		return;
	sysv_remove(&shared_segments, &segment->perm);
	free_segment(segment);
}

static void shm_release(struct file *file)
{
	struct attachment *a = file->data;
	struct segment *segment = a->segment;

	list_del(&a->link);
	kfree(a);
	segment->detached = (s64)time_real_seconds();
	segment->last = current->tgid;
	drop_if_unused(segment);
}

static int shm_mmap(struct file *file, struct file_map *map)
{
	(void)file;
	map->kind = MAP_KIND_INODE;
	return 0;
}

static const struct file_ops shm_ops = { .mmap = shm_mmap, .release = shm_release };

long sys_shmget(s32 key, size_t size, u32 flags)
{
	struct sysv_perm *found;
	struct segment *segment;
	long id = sysv_get(&shared_segments, key, flags, &found);

	if (id != -ENOENT) {
		if (id >= 0 && size > container_of(found, struct segment, perm)->size)
			return -EINVAL;
		return id;
	}
	if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return -ENOENT;
	if (size == 0 || size > USER_END)
		return -EINVAL;
	segment = kzalloc(sizeof(*segment));
	if (!segment)
		return -ENOMEM;
	segment->inode = inode_anonymous(ALIGN_UP((u64)size, (u64)PAGE_SIZE));
	if (!segment->inode) {
		kfree(segment);
		return -ENOMEM;
	}
	segment->inode->lasting = true;
	segment->size = size;
	segment->creator = current->tgid;
	list_init(&segment->attachments);
	id = sysv_add(&shared_segments, &segment->perm, key, flags);
	if (id < 0)
		free_segment(segment);
	return id;
}

static struct file *open_attachment(struct segment *segment, u32 flags)
{
	struct attachment *a = kmalloc(sizeof(*a));
	struct file *file;
	char name[16];

	if (!a)
		return ERR_PTR(-ENOMEM);
	snprintf(name, sizeof(name), "/SYSV%08x", (u32)segment->perm.key);
	file = file_on_inode(segment->inode, name, flags & SHM_RDONLY ? O_RDONLY : O_RDWR, &shm_ops, a);
	if (IS_ERR(file)) {
		kfree(a);
		return file;
	}
	a->segment = segment;
	a->file = file;
	list_add(&a->link, &segment->attachments);
	return file;
}

long shm_attach(int id, uaddr_t address, u32 flags, uaddr_t *at)
{
	struct segment *segment = sysv_find(&shared_segments, id);
	u32 protection = PROT_READ, map = MAP_SHARED;
	uaddr_t result;
	struct file *file;

	if (!segment)
		return -EINVAL;
	if (!sysv_may(&segment->perm, flags & SHM_RDONLY ? SYSV_READ : SYSV_READ | SYSV_WRITE))
		return -EACCES;
	if (address) {
		if (flags & SHM_RND)
			address &= PAGE_MASK;
		if (address & ~PAGE_MASK || (!address && flags & SHM_REMAP))
			return -EINVAL;
		map |= flags & SHM_REMAP ? MAP_FIXED : MAP_FIXED_NOREPLACE;
	} else if (flags & SHM_REMAP) {
		return -EINVAL;
	}
	if (!(flags & SHM_RDONLY))
		protection |= PROT_WRITE;
	if (flags & SHM_EXEC)
		protection |= PROT_EXEC;
	file = open_attachment(segment, flags);
	if (IS_ERR(file))
		return PTR_ERR(file);
	result = mm_map(current->mm, address, segment->size, protection, map, file, 0);
	if (!IS_ERR_VALUE(result)) {
		segment->attached = (s64)time_real_seconds();
		segment->last = current->tgid;
		*at = result;
	}
	file_put(file);
	if (IS_ERR_VALUE(result))
		return (s32)result == -EEXIST ? -EINVAL : (s32)result;
	return 0;
}

/* A result of 2 GB or more is an address: only the last 4095 values are errors. */
long sys_shmat(int id, uaddr_t address, u32 flags)
{
	uaddr_t at;
	long result = shm_attach(id, address, flags, &at);

	return result ? result : (long)at;
}

long sys_shmdt(uaddr_t address)
{
	struct vma *v = mm_find(current->mm, address), *next;
	struct file *file;

	if (address & ~PAGE_MASK || !v || v->start != address || !v->file || v->file->ops != &shm_ops || v->first_page)
		return -EINVAL;
	file = file_get(v->file);
	/* mprotect may have cut the attachment into several areas. */
	while (v && v->file == file) {
		next = mm_next(v);
		mm_unmap(current->mm, v->start, v->end - v->start);
		v = next;
	}
	file_put(file);
	return 0;
}

static void segment_status(const struct sysv_perm *perm, union sysv_status *status)
{
	const struct segment *segment = container_of(perm, struct segment, perm);
	struct shmid_ds *ds = &status->shm;

	if (segment->doomed)
		ds->perm.mode |= SHM_DEST;
	ds->atime = (u32)segment->attached;
	ds->dtime = (u32)segment->detached;
	ds->ctime = (u32)perm->changed;
	ds->size = segment->size;
	ds->creator = segment->creator;
	ds->last = segment->last;
	ds->attachments = count_attachments(segment);
}

static void segment_remove(struct sysv_perm *perm)
{
	struct segment *segment = container_of(perm, struct segment, perm);

	perm->key = IPC_PRIVATE;        /* nobody finds it by its key any more */
	segment->doomed = true;
	drop_if_unused(segment);
}

static struct sysv_table shared_segments = {
	.stat = SHM_STAT,
	.stat_any = SHM_STAT_ANY,
	.status_size = sizeof(struct shmid_ds),
	.status = segment_status,
	.remove = segment_remove,
};

static long give_limits(uaddr_t user)
{
	struct shminfo info = {
		.size_max = (u32)MIN((u64)USER_END, 0xffffffffull),
		.size_min = 1, .segments_max = SYSV_SLOTS_MAX, .per_process_max = SYSV_SLOTS_MAX,
		.pages_max = USER_END >> PAGE_SHIFT,
	};

	return copy_to_user((void *)user, &info, sizeof(info)) ? -EFAULT : sysv_highest(&shared_segments);
}

static long give_use(uaddr_t user)
{
	struct shm_info info = { .used = (s32)shared_segments.used };

	for (u32 i = 0; i < SYSV_SLOTS_MAX; i++) {
		const struct segment *segment = sysv_at(&shared_segments, (int)i);

		if (segment) {
			info.total += (segment->size + PAGE_SIZE - 1) >> PAGE_SHIFT;
			info.resident += segment->inode->page_count;
		}
	}
	return copy_to_user((void *)user, &info, sizeof(info)) ? -EFAULT : sysv_highest(&shared_segments);
}

long sys_shmctl(int id, int command, uaddr_t user)
{
	const struct sysv_perm *perm;

	command &= ~IPC_64;
	switch (command) {
	case IPC_INFO:
		return give_limits(user);
	case SHM_INFO:
		return give_use(user);
	case SHM_LOCK:
	case SHM_UNLOCK:        /* nothing is ever swapped out */
		perm = sysv_find(&shared_segments, id);
		return !perm ? -EINVAL : sysv_owns(perm) ? 0 : -EPERM;
	}
	return sysv_control(&shared_segments, id, command, user);
}
