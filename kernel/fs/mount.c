/* File systems and mounts. */
#include <abi/fs.h>
#include <err.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <text.h>
#include <window.h>

#include "internal.h"

struct list_head filesystems = LIST_HEAD_INIT(filesystems);
struct filesystem *root_filesystem;

struct filesystem *filesystem_new(const char *type, const char *source, u32 magic)
{
	static u32 next_dev = MKDEV(0, 1);
	struct filesystem *fs = kzalloc(sizeof(*fs));

	if (!fs)
		return NULL;
	fs->source = kmalloc(strlen(source) + 1);
	if (!fs->source) {
		kfree(fs);
		return NULL;
	}
	strlcpy(fs->source, source, strlen(source) + 1);
	fs->type = type;
	fs->magic = magic;
	fs->dev = next_dev++;
	fs->next_ino = 1;
	list_init(&fs->link);
	return fs;
}

void filesystem_free(struct filesystem *fs)
{
	kfree(fs->source);
	kfree(fs);
}

/* On success the mount holds a reference to the directory. */
static int filesystem_mount(struct filesystem *fs, struct dentry *dentry)
{
	if (!S_ISDIR(dentry->inode->mode))
		return -ENOTDIR;
	if (dentry->inode->fs && dentry->inode->fs->root == dentry && !dentry->linked)
		return -EBUSY;
	/* Something is mounted here, and the caller stands in the covered directory: another mount would be lost. */
	if (dentry->mounted)
		return -EBUSY;
	fs->covers = dentry_get(dentry);
	dentry->mounted = fs;
	list_add_tail(&fs->link, &filesystems);
	return 0;
}

static struct dentry *first_child(const struct dentry *dir)
{
	return list_empty(&dir->children) ? NULL : list_first_entry(&dir->children, struct dentry, sibling);
}

/* Frees the contents of a RAM file system: first names, from the leaves, then inodes by their counts. */
static void remove_tree(struct dentry *root)
{
	struct dentry *dentry = root, *below;

	for (;;) {
		struct dentry *parent = dentry->parent;

		interrupt_window();
		if ((below = first_child(dentry))) {
			dentry = below;
			continue;
		}
		if (dentry == root)
			return;
		dentry->inode->nlink = 0;
		dentry_unlink(dentry);
		dentry = parent;
	}
}

void filesystem_drop(struct filesystem *fs)
{
	remove_tree(fs->root);
	dentry_put(fs->root);
	filesystem_free(fs);
}

/* The next dentry of a walk that visits a directory before its contents; NULL: the end of root's tree. */
static struct dentry *next_in_tree(struct dentry *dentry, const struct dentry *root)
{
	struct dentry *below = first_child(dentry);
	u32 levels = 0;

	if (below)
		return below;
	while (dentry != root && dentry->sibling.next == &dentry->parent->children) {
		interrupt_window_at(++levels);
		dentry = dentry->parent;
	}
	return dentry == root ? NULL : list_first_entry(&dentry->sibling, struct dentry, sibling);
}

/* Whether there are references to the tree from outside; `own` of the root's references are ignored. */
static bool tree_in_use(struct dentry *root, u32 own)
{
	struct dentry *dentry;

	for_each_link_long(dentry, root, next_in_tree(dentry, root)) {
		const struct dentry *child;
		u32 known = dentry == root ? own : 1;

		list_for_each_window(child, &dentry->children, sibling)
			known++;
		if (dentry->refs != known || (dentry != root && dentry->mounted))
			return true;
	}
	return false;
}

static int filesystem_unmount(struct filesystem *fs)
{
	struct dentry *dentry = fs->covers;

	if (!dentry)
		return -EINVAL;
	/* The mount and the caller's lookup hold one reference each. */
	if (tree_in_use(fs->root, 2))
		return -EBUSY;
	dentry->mounted = NULL;
	dentry_put(dentry);
	list_del(&fs->link);
	fs->covers = NULL;
	return 0;
}

#define TYPES_MOST 8u
static struct {
	const char *type;
	struct filesystem *(*make)(const char *source);
} filesystem_types[TYPES_MOST];
static u32 type_count;

void filesystem_register(const char *type, struct filesystem *(*make)(const char *source))
{
	ASSERT(type_count < TYPES_MOST);
	filesystem_types[type_count].type = type;
	filesystem_types[type_count++].make = make;
}

static struct filesystem *make_filesystem(const char *type, const char *source)
{
	for (u32 i = 0; i < type_count; i++)
		if (!strcmp(filesystem_types[i].type, type)) {
			struct filesystem *fs = filesystem_types[i].make(source);

			if (!fs)
				return ERR_PTR(-ENOMEM);
			fs->type = filesystem_types[i].type;
			return fs;
		}
	return ERR_PTR(-ENODEV);
}

static struct filesystem *tmpfs_new(const char *source)
{
	return ramfs_new("tmpfs", source);
}

/* Sets what mount(2) says of a file system. */
static void mount_options(struct filesystem *fs, u32 flags)
{
	fs->read_only = flags & MS_RDONLY;
	fs->refuses = flags & (MS_NOSUID | MS_NODEV | MS_NOEXEC);
}

static int mount_at(const char *type, const char *source, const char *target, u32 flags)
{
	struct filesystem *fs;
	struct dentry *dentry;
	int error = path_lookup(AT_FDCWD, target, WALK_FOLLOW | WALK_DIRECTORY, &dentry);

	if (error)
		return error;
	fs = make_filesystem(type, source);
	if (IS_ERR(fs)) {
		dentry_put(dentry);
		return (int)PTR_ERR(fs);
	}
	mount_options(fs, flags);
	error = filesystem_mount(fs, dentry);
	dentry_put(dentry);
	if (error) {
		filesystem_drop(fs);
		return error;
	}
	return 0;
}

static char *string_from_user(const char *user, const char *otherwise)
{
	char *copy;

	if (user)
		return path_from_user(user);
	copy = kmalloc(strlen(otherwise) + 1);
	if (!copy)
		return ERR_PTR(-ENOMEM);
	strlcpy(copy, otherwise, strlen(otherwise) + 1);
	return copy;
}

static long mount_change(const char *target, u32 flags)
{
	struct dentry *dentry;
	int error = path_lookup(AT_FDCWD, target, WALK_FOLLOW, &dentry);

	if (error)
		return error;
	if (!dentry->inode->fs || dentry->inode->fs->root != dentry)
		error = -EINVAL;
	else
		mount_options(dentry->inode->fs, flags);
	dentry_put(dentry);
	return error;
}

long sys_mount(const char *source, const char *target, const char *type, u32 flags, uaddr_t data)
{
	char *from, *on, *kind;
	long result;

	(void)data;
	if (!capable())
		return -EPERM;
	from = string_from_user(source, "none");
	if (IS_ERR(from))
		return PTR_ERR(from);
	on = path_from_user(target);
	if (IS_ERR(on)) {
		kfree(from);
		return PTR_ERR(on);
	}
	kind = string_from_user(flags & MS_REMOUNT ? NULL : type, "");
	if (IS_ERR(kind))
		result = PTR_ERR(kind);
	else if (flags & MS_REMOUNT)
		result = mount_change(on, flags);
	else
		result = mount_at(kind, from, on, flags);
	if (!IS_ERR(kind))
		kfree(kind);
	kfree(on);
	kfree(from);
	return result;
}

long sys_umount2(const char *target, u32 flags)
{
	char *path;
	struct dentry *dentry;
	struct filesystem *fs;
	int error;

	if (!capable())
		return -EPERM;
	if (flags & ~0xfu)
		return -EINVAL;
	path = path_from_user(target);
	if (IS_ERR(path))
		return PTR_ERR(path);
	error = path_lookup(AT_FDCWD, path, WALK_FOLLOW, &dentry);
	kfree(path);
	if (error)
		return error;
	fs = dentry->inode->fs;
	error = fs && fs->root == dentry ? filesystem_unmount(fs) : -EINVAL;
	dentry_put(dentry);
	if (!error)
		filesystem_drop(fs);
	return error;
}

static void show_options(struct text *text, const struct filesystem *fs)
{
	text_puts(text, fs->read_only ? "ro" : "rw");
	if (fs->refuses & MS_NOSUID)
		text_puts(text, ",nosuid");
	if (fs->refuses & MS_NODEV)
		text_puts(text, ",nodev");
	if (fs->refuses & MS_NOEXEC)
		text_puts(text, ",noexec");
	text_puts(text, ",relatime");
}

void mounts_show(struct text *text)
{
	struct filesystem *fs;
	char *buffer = kmalloc(PATH_MAX), *path;

	if (!buffer)
		return;
	list_for_each_entry(fs, &filesystems, link) {
		path = fs->covers ? dentry_path(fs->root, buffer, PATH_MAX) : NULL;
		if (path && IS_ERR(path))
			continue;
		text_printf(text, "%s %s %s ", fs->source, path ? path : "/", fs->type);
		show_options(text, fs);
		text_puts(text, " 0 0\n");
	}
	kfree(buffer);
}

/* A file system is mounted once, so its device number is also the mount's (proc(5)). */
void mountinfo_show(struct text *text)
{
	struct filesystem *fs;
	char *buffer = kmalloc(PATH_MAX), *path;

	if (!buffer)
		return;
	list_for_each_entry(fs, &filesystems, link) {
		const struct filesystem *above = fs->covers ? fs->covers->inode->fs : fs;

		path = fs->covers ? dentry_path(fs->root, buffer, PATH_MAX) : NULL;
		if (path && IS_ERR(path))
			continue;
		text_printf(text, "%u %u %u:%u / %s ", MINOR(fs->dev), MINOR(above->dev), MAJOR(fs->dev),
			    MINOR(fs->dev), path ? path : "/");
		show_options(text, fs);
		text_printf(text, " - %s %s %s\n", fs->type, fs->source, fs->read_only ? "ro" : "rw");
	}
	kfree(buffer);
}

void filesystems_show(struct text *text)
{
	for (u32 i = 0; i < type_count; i++)
		text_printf(text, "nodev\t%s\n", filesystem_types[i].type);
}

void fs_init(void)
{
	filesystem_register("tmpfs", tmpfs_new);
	filesystem_register("ramfs", tmpfs_new);
	filesystem_register("rootfs", tmpfs_new);
	root_filesystem = ramfs_new("rootfs", "rootfs");
	if (!root_filesystem)
		fatal(EXIT_MEMORY, "root file system: no memory");
	list_add_tail(&root_filesystem->link, &filesystems);
}

static struct filesystem *mount_standard(struct filesystem *below, const char *type, const char *name)
{
	struct dentry *root = below->root, *on = dentry_find(root, name, strlen(name));
	struct filesystem *fs = make_filesystem(type, type);
	int error = 0;

	if (!on)
		error = make_directory(root, name, strlen(name), 0755, NULL);
	on = dentry_find(root, name, strlen(name));
	if (error || IS_ERR(fs) || !on || filesystem_mount(fs, on))
		fatal(EXIT_NO_INIT, "/%s: cannot be mounted: not a directory, or no memory", name);
	return fs;
}

void fs_mount_standard(void)
{
	mount_standard(mount_standard(root_filesystem, "devtmpfs", "dev"), "devpts", "pts");
	mount_standard(root_filesystem, "proc", "proc");
	mount_standard(root_filesystem, "sysfs", "sys");
}

struct fs_context *fs_context_new(void)
{
	struct fs_context *context = kzalloc(sizeof(*context));

	if (!context)
		return NULL;
	context->refs = 1;
	context->umask = 022;
	context->cwd = dentry_get(root_filesystem->root);
	context->root = dentry_get(root_filesystem->root);
	return context;
}

struct fs_context *fs_context_dup(const struct fs_context *from)
{
	struct fs_context *context = kmalloc(sizeof(*context));

	if (!context)
		return NULL;
	*context = *from;
	context->refs = 1;
	dentry_get(context->cwd);
	dentry_get(context->root);
	return context;
}

void fs_context_put(struct fs_context *context)
{
	if (!context || --context->refs)
		return;
	dentry_put(context->cwd);
	dentry_put(context->root);
	kfree(context);
}
