/* Making file systems, and finding and making names, for other folders (/dev, /proc, sockets, queues). */
#ifndef FILESYSTEM_H
#define FILESYSTEM_H
#include <fs.h>

struct file_ops;
struct frame;
struct iter;
struct page_tree;
struct text;

/* File systems (fs/mount.c). */
struct filesystem *filesystem_new(const char *type, const char *source, u32 magic);
void filesystem_free(struct filesystem *);
void filesystem_drop(struct filesystem *);      /* frees it with its contents; nothing of it may be in use */
/* Makes a type known to mount(2). make() returns NULL without memory. */
void filesystem_register(const char *type, struct filesystem *(*make)(const char *source));
/* Called once each: they register /sys and /dev. */
void sysfs_init(void);
void devfs_init(void);
void mounts_show(struct text *);
void mountinfo_show(struct text *);
void filesystems_show(struct text *);
extern struct list_head filesystems;
extern struct filesystem *root_filesystem;
extern struct inode_ops ramfs_ops;      /* check=sleep gives it a medium (test/areas.c) */
struct filesystem *ramfs_new(const char *type, const char *source);

/*
 * A path walk that stopped before the last component: creating, removing and renaming start from it. `last` points
 * into the path or into `owned` (a symbolic link's text), so the path must live as long as the walk.
 */
struct walk {
	struct dentry *dir;     /* referenced */
	const char *last;       /* not NUL-terminated */
	size_t len;             /* 0: the path was only slashes */
	bool slash;             /* slashes follow the last component */
	unsigned links;         /* symbolic links followed so far */
	char *owned;
	u32 resolve;            /* RESOLVE_*: what openat2 forbids */
	struct dentry *start;   /* the walk must stay below it; referenced; NULL: no limit */
	u32 moves;              /* dentry_moves when the directory was last known to be below the start */
};
/* Other tasks may run during a walk: at each symbolic link that it follows. */
int walk_parent(struct walk *, int dirfd, const char *path);
int walk_parent_resolving(struct walk *, int dirfd, const char *path, u32 resolve);
/* The target of a link of /proc that names an object rather than a path: referenced, or ERR_PTR. */
struct dentry *walk_magic(const struct walk *, struct dentry *link);
/* Steps from w->dir to the last component, crossing mounts: a referenced dentry, or ERR_PTR. */
struct dentry *walk_last(struct walk *);
/* Follows the symbolic link in the last component: continues the walk to the parent of its target. */
int walk_follow(struct walk *, struct dentry *link);
void walk_done(struct walk *);

/* Names (fs/dentry.c, fs/create.c). */
struct dentry *dentry_parent(struct dentry *);  /* "..": crosses mounts, stops at the caller's root; referenced */
int inode_make(struct dentry *dir, const char *name, size_t len, u32 mode, u32 rdev, struct dentry **out);
void inode_unmake(struct dentry *);     /* removes the name again */
int make_directory(struct dentry *dir, const char *name, size_t len, u32 mode, struct dentry **out);
int make_link_text(struct dentry *dir, const char *name, size_t len, const char *text, struct dentry **out);

/* The read operation of a directory, which fails (fs/ramfs.c). */
long directory_read(struct file *, struct iter *, u64 *position);
/* For lseek: the new position, or -EINVAL; end: the position for SEEK_END, or -1 if the file has no end. */
s64 seek_from(struct file *, s64 offset, int whence, s64 end);
s64 seek_endless(struct file *, s64 offset, int whence);

/* The page cache's tree (fs/page.c). */
struct frame *page_find(const struct page_tree *, u32 page);
int page_insert(struct page_tree *, u32 page, struct frame *);
u32 page_drop_from(struct page_tree *, u32 first, u32 most);  /* frees pages; returns their number */
/* Allocates the nodes for the pages from `first` to before `end`: all or none. Inserting these then needs no memory. */
int page_prepare(struct page_tree *, u32 first, u32 end);

/* FIFOs and devices: what their folders give to an inode of any file system, by the type of the inode. */
struct special_kind {
	const struct file_ops *(*ops)(u32 mode, u32 rdev);      /* NULL: no such device (ENXIO) */
	void (*gone)(struct inode *);                           /* when the inode is freed; NULL: nothing to do */
};
extern const struct special_kind *special_kinds[S_IFMT / S_IFIFO + 1];
static inline const struct special_kind *special_kind(u32 mode)
{
	return special_kinds[(mode & S_IFMT) / S_IFIFO];
}

u32 device_to_user(u32 device);

#endif
