/* /dev: a RAM file system, filled at boot with the existing devices. Numbers: Linux, admin-guide/devices. */
#include <control.h>
#include <filesystem.h>
#include <lib.h>

#include "devices.h"
#include "pty.h"
#include "tty_internal.h"

static const struct device {
	const char *name;
	u32 mode, dev;          /* a character device, unless mode says otherwise */
	const struct file_ops *ops;
} device_files[] = {
	{ "null", 0666, MKDEV(1, 3), &null_ops },
	{ "zero", 0666, MKDEV(1, 5), &zero_ops },
	{ "full", 0666, MKDEV(1, 7), &full_ops },
	{ "random", 0666, MKDEV(1, 8), &random_ops },
	{ "urandom", 0666, MKDEV(1, 9), &random_ops },
	{ "ttyS0", 0620, MKDEV(4, 64), &tty_ops },
	{ "tty", 0666, MKDEV(5, 0), &controlling_ops },
	{ "ptmx", 0666, MKDEV(5, 2), &ptmx_ops },
	{ "console", 0600, MKDEV(5, 1), &console_ops },
	{ "pagewalk", 0666, MKDEV(10, 240), &pagewalk_ops },
	{ "ram0", S_IFBLK | 0660, MKDEV(1, 0), &ramdisk_ops },
};

static const struct {
	const char *name, *text;
} device_links[] = {
	{ "fd", "/proc/self/fd" },
	{ "stdin", "/proc/self/fd/0" },
	{ "stdout", "/proc/self/fd/1" },
	{ "stderr", "/proc/self/fd/2" },
};

static const struct file_ops *device_ops(u32 mode, u32 rdev)
{
	for (size_t i = 0; i < ARRAY_SIZE(device_files); i++)
		if (device_files[i].dev == rdev && S_ISBLK(device_files[i].mode) == S_ISBLK(mode))
			return device_files[i].ops;
	return S_ISBLK(mode) && MAJOR(rdev) == 1 && MINOR(rdev) < RAMDISKS ? &ramdisk_ops : NULL;
}

static int devfs_populate(struct dentry *root)
{
	int error = 0;

	for (size_t i = 0; !error && i < ARRAY_SIZE(device_files); i++) {
		const struct device *device = &device_files[i];

		if (device->ops == &pagewalk_ops && !control_present())
			continue;
		error = inode_make(root, device->name, strlen(device->name),
				   device->mode & S_IFMT ? device->mode : S_IFCHR | device->mode, device->dev, NULL);
	}
	for (size_t i = 0; !error && i < ARRAY_SIZE(device_links); i++)
		error = make_link_text(root, device_links[i].name, strlen(device_links[i].name), device_links[i].text,
				       NULL);
	if (!error)
		error = make_directory(root, "shm", 3, 01777, NULL);
	if (!error)
		error = make_directory(root, "pts", 3, 0755, NULL);
	return error;
}

static struct filesystem *devfs_new(const char *source)
{
	struct filesystem *fs = ramfs_new("devtmpfs", source);

	if (fs && devfs_populate(fs->root)) {
		/* Free the names created so far; the caller reports that there is no memory. */
		filesystem_drop(fs);
		return NULL;
	}
	return fs;
}

void devfs_init(void)
{
	static const struct special_kind device_kind = { .ops = device_ops };

	special_kinds[S_IFCHR / S_IFIFO] = special_kinds[S_IFBLK / S_IFIFO] = &device_kind;
	filesystem_register("devtmpfs", devfs_new);
	filesystem_register("devpts", devpts_new);
}
