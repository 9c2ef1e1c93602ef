/* Inodes, names and path walk. Open files are in file.h. */
#ifndef FS_H
#define FS_H
#include <abi/fs.h>
#include <list.h>
#include <rbtree.h>
#include <types.h>
#include <wait.h>

struct dentry;
struct file;
struct file_ops;
struct frame;
struct inode;

#define SYMLINK_DEPTH_MAX 40

/* Access asked for, as in access(2). */
#define MAY_EXEC 1
#define MAY_WRITE 2
#define MAY_READ 4

#define MKDEV(major, minor) (((u32)(major) << 20) | (u32)(minor))
#define MAJOR(dev) ((u32)(dev) >> 20)
#define MINOR(dev) ((u32)(dev) & 0xfffffu)

struct file_time {
	s64 sec;
	u32 nsec;
};

/* One mounted file system. */
struct filesystem {
	struct list_head link;
	const char *type;       /* as in /proc/mounts: "tmpfs", "proc", ... */
	char *source;
	u32 dev;
	u32 magic;              /* f_type of statfs(2) */
	u64 next_ino;
	struct dentry *root;
	struct dentry *covers;  /* the directory it is mounted on; NULL: the root */
	bool read_only;
	u32 refuses;            /* mount options that forbid something: MS_NOSUID, MS_NODEV, MS_NOEXEC */
	bool xattrs;            /* its inodes may have extended attributes */
	u32 pages;              /* frames that its inodes hold */
	u32 inodes;
};

static inline bool filesystem_refuses(const struct filesystem *fs, u32 what)
{
	return fs && fs->refuses & what;
}

struct inode_ops {
	/*
	 * Looks up a name that is not in the tree, for file systems that create names on demand. Returns a new dentry
	 * with one reference, or a negative errno as ERR_PTR.
	 */
	struct dentry *(*lookup)(struct dentry *dir, const char *name, size_t len);
	/*
	 * Creates an inode for a name in dir, with one reference; NULL operation: names cannot be changed here.
	 * The five operations after it read and change names in directories. Dentries are a cache of these names: a
	 * file system on a disk changes the directory there, then calls dentry_link() or its relatives. In memory the
	 * cache holds all names, and these calls are all. Each returns 0 or a negative errno, and may sleep.
	 */
	struct inode *(*make)(struct inode *dir, u32 mode, u32 rdev);
	int (*empty)(const struct dentry *dir); /* -ENOTEMPTY: the directory has names */
	int (*link)(struct dentry *dir, const char *name, size_t len, struct inode *, struct dentry **out);
	int (*unlink)(struct dentry *);
	int (*rename)(struct dentry *, struct dentry *dir, const char *name, size_t len);
	int (*exchange)(struct dentry *, struct dentry *);
	/* Symbolic links: copies the text, not NUL-terminated; returns its length. */
	long (*readlink)(struct inode *, char *buffer, size_t size);
	/* Links that lead to an object rather than to a name (/proc/self/fd/n): a referenced dentry. */
	struct dentry *(*follow)(struct inode *);
	int (*truncate)(struct inode *, u64 size);
	/*
	 * The medium behind the page cache of a regular file. read_page: a frame with the contents of a page that the
	 * cache lacks; a file system in memory has only holes there. ERR_PTR: -ENOMEM; -EIO; -EAGAIN after it has
	 * slept: the caller looks in the cache again. write_page writes a dirty page, and may sleep; NULL: the cache is
	 * the only copy, so that no page is dirty. sync writes the inode itself; NULL: there is nothing to write.
	 */
	struct frame *(*read_page)(struct inode *, u32 page);
	int (*write_page)(struct inode *, u32 page, const struct frame *);
	int (*sync)(struct inode *);
	/* Called when the last reference and the last link are gone. */
	void (*free)(struct inode *);
};

/* A radix tree from page number to frame (fs/page.c). */
struct page_tree {
	void *root;             /* a node; if `bits` is 0, the frame of page 0 */
	u32 bits;               /* how many low bits of a page's number the levels of nodes look up */
};

struct inode {
	u32 refs;
	u32 nlink;
	u32 mode;
	u32 uid, gid;
	u32 rdev;
	u64 ino;
	u64 size;               /* bytes */
	struct file_time atime, mtime, ctime;
	struct filesystem *fs;
	const struct inode_ops *ops;
	const struct file_ops *fops;    /* operations of a file opened from this inode */
	struct page_tree pages; /* page cache */
	u32 page_count;
	u32 denied_writes;      /* above 0 while executed: opening to write is ETXTBSY */
	u32 writers;    /* open files that may write, and truncations */
	u16 edition;    /* counts changes from 1 (inode_edit); EDITIONS_MOST: no longer counted */
	u32 seals;      /* fs/memfd.c */
	bool sealable;
	bool linkable;          /* it has never had a name, and may get one (O_TMPFILE without O_EXCL) */
	bool lasting;           /* shared memory: of no file system, but its pages outlive their writer */
	struct list_head mappings;      /* for mm: the areas that map this inode */
	struct list_head dirty;         /* in dirty_inodes, if a page has been dirty since the last inode_sync() */
	struct rb_root locks;   /* record and flock locks (fs/file_lock.c) */
	struct mutex locking;   /* held while a lock is set; not while locks are dropped with their owner */
	struct list_head watches;       /* fs/inotify.c */
	struct deferred ending; /* nobody knows of it any more, but it has many pages */
	struct mutex writing;   /* of a regular file; held during a write */
	struct xattr *xattrs;   /* fs/xattr.c */
	void *data;             /* belongs to the file system, pipe, socket or device */
};

#define NAMELESS_DEV MKDEV(0, 0xe)      /* the device number of files without a file system, such as pipes */
static inline u32 inode_dev(const struct inode *i)
{
	return i->fs ? i->fs->dev : NAMELESS_DEV;
}

struct dentry {
	u32 refs;
	bool linked;            /* reachable by name in its parent */
	u16 len;
	u32 hash;
	char *name;
	struct inode *inode;
	struct dentry *parent;  /* referenced; the root of a file system: itself */
	struct dentry *hash_next;
	struct list_head children;
	struct list_head sibling;
	u64 cookie;     /* position in getdents */
	u64 next_cookie;        /* directories: the next child's cookie, */
	struct dentry *listed;  /* and the child that getdents gave last; NULL: from the first on */
	struct filesystem *mounted;     /* the file system mounted here */
	struct deferred ending; /* a child that has ended held its last reference */
};

/* What current->fs points to: shared by CLONE_FS. */
struct fs_context {
	u32 refs;
	u32 umask;
	struct dentry *cwd;
	struct dentry *root;
};

struct fs_context *fs_context_new(void);        /* "/" of the root file system, umask 022 */
struct fs_context *fs_context_dup(const struct fs_context *);   /* NULL: no memory */
void fs_context_put(struct fs_context *);

/* Creates the root file system. Called once, when kmalloc works. */
void fs_init(void);
/* Creates /dev and /proc and mounts them in the root; called after initramfs_unpack. */
void fs_mount_standard(void);
/*
 * Unpacks the boot loader's cpio "newc" archive into the root and frees its frames. 0, or a negative errno after a
 * message that names the offset and the reason.
 */
int initramfs_unpack(void);

/* Path walk. A path is a kernel string. The results are referenced. */
#define WALK_FOLLOW 1u          /* follow a symbolic link in the last component */
#define WALK_DIRECTORY 2u       /* the last component must be a directory */
int path_lookup(int dirfd, const char *path, unsigned flags, struct dentry **out);
/* With limits of openat2, RESOLVE_*. */
int path_lookup_resolving(int dirfd, const char *path, unsigned flags, u32 resolve, struct dentry **out);
/*
 * The absolute path of a dentry from the caller's root. Returns its start within the buffer. A name that is no longer
 * linked ends with " (deleted)". ERR_PTR(-ENAMETOOLONG).
 */
char *dentry_path(struct dentry *, char *buffer, size_t size);

/* Copies a path from user space into a kmalloc'd buffer (kfree it); ERR_PTR on error. */
char *path_from_user(const char *user);

static inline struct dentry *dentry_get(struct dentry *d)
{
	d->refs++;
	return d;
}
void dentry_put(struct dentry *);
/* Creates a dentry outside of any directory's table (pipes, sockets, /proc). */
struct dentry *dentry_new(struct dentry *parent, const char *name, size_t len, struct inode *inode);
struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len);

static inline struct inode *inode_get(struct inode *i)
{
	i->refs++;
	return i;
}
void inode_put(struct inode *);
struct inode *inode_new(struct filesystem *, u32 mode, u32 rdev);
int inode_permission(const struct inode *, unsigned may);
void inode_touch(struct inode *, bool modified);        /* atime, or mtime and ctime */
/* Makes [from, to) of a regular file a hole, as fallocate does; from and to are multiples of PAGE_SIZE. */
long inode_punch_alone(struct inode *, u64 from, u64 to);

/*
 * While a file is executed, writing is denied: opening it to write is ETXTBSY. Denying fails with -ETXTBSY while
 * somebody has it open to write.
 */
#define EDITIONS_MOST 0xffffu
/* Notes that the file's contents may change: now, or later through an open file. */
void inode_edit(struct inode *);
int inode_deny_write(struct inode *);
void inode_allow_write(struct inode *);
/* Begins writing: a file that is open to write, or a truncation, which may wait. -ETXTBSY: the file is executed. */
int inode_begin_write(struct inode *);
void inode_end_write(struct inode *);

/*
 * Page cache: the frame of page n of a regular file, with one reference for the caller; a hole gets a zeroed frame. It
 * does not look at the file's size; a fault in a mapping does.
 */
int inode_page(struct inode *, u32 page, struct frame **out);
/* Creates an unnamed regular file for shared anonymous memory; one reference. NULL: no memory. */
struct inode *inode_anonymous(u64 size);

/* Notes that a page of the file, which is in the cache, has been written, if a medium has to know of it (fs/sync.c). */
void inode_mark_dirty(struct inode *, u32 page);
static inline void inode_page_written(struct inode *inode, u32 page)
{
	if (inode->ops->write_page)
		inode_mark_dirty(inode, page);
}
/* Writes the dirty pages [first, last] of a file, and the inode, to their medium. Other tasks run meanwhile. */
int inode_sync(struct inode *, u32 first, u32 last);

/* Reads from a regular file into kernel memory; bytes read, short at the end of the file. */
long inode_read(struct inode *, void *buffer, size_t size, u64 offset);

/* Takes the right to write a page of the file from its shared mappings, so that the next write is noticed. */
void mm_clean_inode(struct inode *, u32 page);
void mm_unmap_inode_from(struct inode *, u32 page);  /* from that page on; other tasks run between two parts */

#endif
