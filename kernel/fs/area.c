/* Areas that map a file, a device, or shared memory without a file: their operations (struct area_operations). */
#include <err.h>
#include <file.h>
#include <mm.h>

#include "internal.h"

/* The inode's medium has to know which pages programs write. */
static void note_medium(struct vma *vma)
{
	if (vma->flags & VM_SHARED && vma->inode->ops->write_page)
		vma->flags |= VM_TOLD;
}

static int attach_nameless(struct vma *vma)
{
	vma->inode = inode_anonymous(vma->end - vma->start);
	if (!vma->inode)
		return -ENOMEM;
	vma->flags |= VM_OBJECT;
	note_medium(vma);
	return 0;
}

static int area_attach(struct vma *vma, struct file *file, u32 page)
{
	struct file_map map = {
		.offset = (u64)page << PAGE_SHIFT,
		.size = vma->end - vma->start,
		.shared = vma->flags & VM_SHARED,
		.write = vma->flags & VM_WRITE,
		.execute = vma->flags & VM_EXEC,
	};
	int error;

	if (!file)
		return attach_nameless(vma);
	error = file_mmap(file, &map);
	if (error)
		return error;
	if (map.never_executed)
		vma->flags &= ~VM_MAY_EXEC;
	if (vma->flags & VM_SHARED && (!FILE_WRITES(file) || map.never_written))
		vma->flags &= ~VM_MAY_WRITE;
	switch (map.kind) {
	case MAP_KIND_INODE:
		vma->file = file_get(file);
		vma->inode = inode_get(file->inode);
		vma->flags |= VM_OBJECT;
		vma->first_page = page;
		note_medium(vma);
		return 0;
	case MAP_KIND_DEVICE:
		vma->file = file_get(file);
		vma->flags |= VM_DEVICE;
		vma->first_page = page_number(map.device_address);
		return 0;
	case MAP_KIND_ZERO:
		return vma->flags & VM_SHARED ? attach_nameless(vma) : 0;
	}
	return -ENODEV;
}

static void area_copied(struct vma *copy)
{
	if (copy->file)
		file_get(copy->file);
	if (copy->inode)
		inode_get(copy->inode);
}

static void area_release(struct vma *vma)
{
	if (vma->inode)
		inode_put(vma->inode);
	file_put(vma->file);
}

static char *area_name(const struct vma *vma, char *buffer, size_t size)
{
	char *name = vma->file ? dentry_path(vma->file->dentry, buffer, size) : NULL;

	return IS_ERR(name) ? NULL : name;
}

static int object_remove(const struct vma *vma, u64 from, u64 to)
{
	struct inode *inode = inode_get(vma->inode);
	long error = inode_punch_alone(inode, from, to);

	inode_put(inode);
	return (int)error;
}

static void object_written(const struct vma *vma, u32 page)
{
	inode_page_written(vma->inode, page);
}

/* Also sets the file's times: a store through a mapping that is writable from its first fault on leaves no trace. */
static int object_synchronise(const struct vma *vma, uaddr_t start, uaddr_t end)
{
	struct inode *inode = inode_get(vma->inode);
	u32 first = vma->first_page + (u32)((start - vma->start) >> PAGE_SHIFT);
	int error;

	inode_touch(inode, true);
	error = inode_sync(inode, first, first + (u32)((end - start) >> PAGE_SHIFT) - 1);
	inode_put(inode);
	return error;
}

/* A device's pages are not memory: install() enters them. */
static struct frame *no_frame(const struct vma *vma, u32 page)
{
	(void)vma;
	(void)page;
	return ERR_PTR(-ENXIO);
}

static const struct area_operations no_object, device_area = {
	.install = device_page_install, .fault = no_frame, .name = area_name, .copied = area_copied,
	.release = area_release,
};

static const struct area_operations object_area = {
	.fault = object_fault, .present = object_present, .written = object_written, .remove = object_remove,
	.synchronise = object_synchronise, .name = area_name, .copied = area_copied, .release = area_release,
};

const struct area_operations *area_kinds[VM_KIND / VM_DEVICE] = { &no_object, &device_area, &object_area };

/* The first holder denies writing already, so nobody has the file open for it, and another one cannot be refused. */
static struct file *program_held(struct file *file)
{
	return inode_deny_write(file->inode) ? NULL : file_get(file);
}

static void program_released(struct file *file)
{
	inode_allow_write(file->inode);
	file_put(file);
}

const struct mm_files mm_files = {
	.attach = area_attach, .program_held = program_held, .program_released = program_released,
};
