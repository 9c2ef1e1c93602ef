/* What the files of fs/ share among themselves. */
#ifndef FS_INTERNAL_H
#define FS_INTERNAL_H

#include <fs.h>

struct file_map;
struct iter;

/* fs/page.c */
struct frame *page_find(const struct page_tree *, u32 page);
/* Whether there is a page at `*page` or beyond: then `*page` becomes the first. */
bool page_next(const struct page_tree *, u32 *page);
int page_insert(struct page_tree *, u32 page, struct frame *);
u32 page_drop_from(struct page_tree *, u32 first);

/*
 * A path walk that stopped before the last component: what creating, removing
 * and renaming start from. `last` points into the path or into `owned` (a
 * symbolic link's text), so the walk lives as long as its result.
 */
struct walk {
	struct dentry *dir;	/* referenced */
	const char *last;	/* not NUL-terminated */
	size_t len;		/* 0: the path was only slashes */
	bool slash;		/* slashes follow the last component */
	unsigned links;		/* symbolic links followed so far */
	char *owned;
};
int walk_parent(struct walk *, int dirfd, const char *path);
/* One step from w->dir to its last component: a referenced dentry, or ERR_PTR. Mounts are crossed. */
struct dentry *walk_last(struct walk *);
/* The last component is this symbolic link: goes on to the parent of what it names. */
int walk_follow(struct walk *, struct dentry *link);
void walk_done(struct walk *);

/* fs/dentry.c: names in a directory. */
int dentry_link(struct dentry *dir, const char *name, size_t len, struct inode *inode, struct dentry **out);
void dentry_unlink(struct dentry *);
int dentry_move(struct dentry *, struct dentry *dir, const char *name, size_t len);
bool dentry_within(const struct dentry *, const struct dentry *ancestor);
struct dentry *dentry_parent(struct dentry *);	/* "..": crosses mounts, stops at the caller's root; referenced */

/* fs/attribute.c: what a call's path names, as the AT_ flags say; referenced. */
int lookup_user(int dirfd, const char *user_path, u32 flags, struct dentry **out);

/* fs/memfd.c: 0, or -EPERM where a seal forbids a write up to `end`, a new size, or a mapping. */
int seals_check_write(const struct inode *, u64 end);
int seals_check_size(const struct inode *, u64 size);
int seals_check_map(const struct inode *, struct file_map *);
long seals_get(const struct file *);
long seals_add(struct file *, u32 seals);

/* fs/xattr.c */
void xattrs_free(struct inode *);

/* fs/create.c */
int inode_make(struct dentry *dir, const char *name, size_t len, u32 mode, u32 rdev, struct dentry **out);
int make_directory(struct dentry *dir, const char *name, size_t len, u32 mode, struct dentry **out);
int make_link_text(struct dentry *dir, const char *name, size_t len, const char *text, struct dentry **out);

/* fs/inode.c */
#define FILE_SIZE_MAX 0xffffffff000ull	/* page numbers have 32 bits */
int inode_add_page(struct inode *, u32 page, struct frame *);
int inode_resize(struct inode *, u64 size);
void inode_punch(struct inode *, u64 from, u64 to);
long inode_write_kernel(struct inode *, const void *, size_t size, u64 offset);
/* lseek's SEEK_DATA and SEEK_HOLE: the next offset with, or without, a page; -ENXIO. */
s64 inode_next(const struct inode *, u64 offset, bool data);

/* fs/ramfs.c */
struct filesystem *ramfs_new(const char *type, const char *source);
extern const struct file_ops ramfs_file_ops, ramfs_dir_ops;
int ramfs_set_link_text(struct inode *, const char *text, size_t len);
long directory_read(struct file *, struct iter *, u64 *position);	/* fails */

/* fs/read_write.c */
/* lseek: the new position, or -EINVAL; end: what SEEK_END counts from, or -1 where there is none. */
s64 seek_from(struct file *, s64 offset, int whence, s64 end);
s64 seek_endless(struct file *, s64 offset, int whence);

/* fs/mount.c */
struct filesystem *filesystem_new(const char *type, const char *source, u32 magic);
void filesystem_free(struct filesystem *);
void filesystem_drop(struct filesystem *);	/* with everything in it; nothing of it is in use */
struct filesystem *tmpfs_new(const char *source);
struct filesystem *procfs_new(const char *source);	/* stat/procfs.c */
struct filesystem *devfs_new(const char *source);	/* dev/devfs.c */
struct filesystem *devpts_new(const char *source);	/* dev/devpts.c */
void mounts_show(struct text *);
void filesystems_show(struct text *);
int filesystem_mount(struct filesystem *, struct dentry *on);
extern struct list_head filesystems;
extern struct filesystem *root_filesystem;

/* fs/access.c */
bool may_change(const struct inode *);	/* the caller owns it, or is the superuser */
void inode_drop_privileges(struct inode *);	/* set-id bits go when others write */
struct file_time file_time_now(void);

/* fs/lock.c */
void locks_release_file(struct file *);

/* fs/create.c: device numbers in the ABI's form, to and from the kernel's. */
u32 device_from_user(u32 device);
u32 device_to_user(u32 device);

/* fs/open.c */
long fd_dup_from(int fd, u32 from, bool cloexec);

/* dev/: files of device inodes */
const struct file_ops *device_ops(u32 mode, u32 rdev);	/* NULL: no such device (ENXIO) */

#endif
