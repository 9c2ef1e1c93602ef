/* Inodes, names and path walk. Open files are in file.h. */
#ifndef FS_H
#define FS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "list.h"

struct dentry;
struct file;
struct file_ops;
struct frame;
struct inode;
struct text;

#define PATH_MAX 4096
#define NAME_MAX 255
#define SYMLINK_DEPTH_MAX 40

/* File type and mode bits (POSIX <sys/stat.h>, Linux values). */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFLNK 0120000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define S_ISUID 04000
#define S_ISGID 02000
#define S_ISVTX 01000
#define S_ISREG(m) (((m) & S_IFMT) == S_IFREG)
#define S_ISDIR(m) (((m) & S_IFMT) == S_IFDIR)
#define S_ISLNK(m) (((m) & S_IFMT) == S_IFLNK)
#define S_ISCHR(m) (((m) & S_IFMT) == S_IFCHR)
#define S_ISBLK(m) (((m) & S_IFMT) == S_IFBLK)
#define S_ISFIFO(m) (((m) & S_IFMT) == S_IFIFO)
#define S_ISSOCK(m) (((m) & S_IFMT) == S_IFSOCK)

/* Access asked for, as in access(2). */
#define MAY_EXEC 1
#define MAY_WRITE 2
#define MAY_READ 4

#define MKDEV(major, minor) (((uint32_t)(major) << 20) | (uint32_t)(minor))
#define MAJOR(dev) ((uint32_t)(dev) >> 20)
#define MINOR(dev) ((uint32_t)(dev) & 0xfffffu)

struct file_time {
	int64_t sec;
	uint32_t nsec;
};

/* One mounted file system. */
struct filesystem {
	struct list_head link;
	const char *type;	/* as in /proc/mounts: "tmpfs", "proc", ... */
	char *source;
	uint32_t dev;
	uint32_t magic;		/* f_type of statfs(2) */
	uint64_t next_ino;
	struct dentry *root;
	struct dentry *covers;	/* the directory it is mounted on; NULL: the root */
	bool read_only;
	uint32_t pages;		/* frames that its inodes hold */
	uint32_t inodes;
};

struct inode_ops {
	/* A name that is not in the tree (file systems whose names are made on demand). Returns a new
	   dentry with one reference or a negative errno as ERR_PTR. */
	struct dentry *(*lookup)(struct dentry *dir, const char *name, size_t len);
	/* A new inode for a name in dir, one reference; NULL operation: names cannot be made here. */
	struct inode *(*make)(struct inode *dir, uint32_t mode, uint32_t rdev);
	/* Symbolic links: the text, not NUL-terminated; returns its length. */
	long (*readlink)(struct inode *, char *buffer, size_t size);
	/* Links that lead to an object rather than to a name (/proc/self/fd/n): a referenced dentry. */
	struct dentry *(*follow)(struct inode *);
	int (*truncate)(struct inode *, uint64_t size);
	/* The last reference and the last link are gone. */
	void (*free)(struct inode *);
};

struct inode {
	uint32_t refs;
	uint32_t nlink;
	uint32_t mode;
	uint32_t uid, gid;
	uint32_t rdev;
	uint64_t ino;
	uint64_t size;		/* bytes */
	struct file_time atime, mtime, ctime;
	struct filesystem *fs;
	const struct inode_ops *ops;
	const struct file_ops *fops;	/* of a file opened from this inode */
	struct frame_tree *pages;	/* page cache; NULL while empty */
	uint32_t page_count;
	uint32_t denied_writes;	/* >0:: being executed, writing is ETXTBSY */
	uint32_t writers;	/* open files that may write */
	struct list_head mappings;	/* for mm: the areas that map this inode */
	struct list_head locks;	/* record and flock locks (fs/lock.c) */
	void *data;		/* of the file system, pipe, socket or device */
};

struct dentry {
	uint32_t refs;
	bool linked;		/* reachable by name in its parent */
	uint16_t len;
	uint32_t hash;
	char *name;
	struct inode *inode;
	struct dentry *parent;	/* referenced; the root of a file system: itself */
	struct dentry *hash_next;
	struct list_head children;
	struct list_head sibling;
	uint64_t cookie;	/* position in getdents */
	uint64_t next_cookie;	/* directories: the next child's cookie */
	struct filesystem *mounted;	/* the file system mounted here */
};

/* What current->fs points to: shared by CLONE_FS. */
struct fs_context {
	uint32_t refs;
	uint32_t umask;
	struct dentry *cwd;
	struct dentry *root;
};

struct fs_context *fs_context_new(void);	/* "/" of the root file system, umask 022 */
struct fs_context *fs_context_dup(const struct fs_context *);	/* NULL: no memory */
void fs_context_put(struct fs_context *);

/* Mounts the root ramfs, /dev and /proc devices' registries. Called once, after kmalloc works. */
void fs_init(void);
/* Unpacks a cpio "newc" archive into the root. 0, or a negative errno after a message on the console that
   names the offset and the reason. */
int initramfs_unpack(const void *archive, size_t size);

#define AT_FDCWD (-100)

/* Path walk. A path is a kernel string. The results are referenced. */
#define WALK_FOLLOW 1u		/* follow a symbolic link in the last component */
#define WALK_DIRECTORY 2u	/* the last component must be a directory */
int path_lookup(int dirfd, const char *path, unsigned flags, struct dentry **out);
/* The parent directory and the last component (points into path). */
int path_parent(int dirfd, const char *path, struct dentry **dir, const char **last, size_t *len, bool *slash);
/* Absolute path of a dentry seen from the caller's root; the start within the buffer. " (deleted)" is added
   to a name that is no longer linked. ERR_PTR(-ENAMETOOLONG). */
char *dentry_path(struct dentry *, char *buffer, size_t size);

/* Copies a path from user space into a kmalloc'd buffer (kfree it); ERR_PTR on error. */
char *path_from_user(const char *user);

static inline struct dentry *dentry_get(struct dentry *d)
{
	d->refs++;
	return d;
}
void dentry_put(struct dentry *);
/* A dentry that is in no directory's table (pipes, sockets, /proc). */
struct dentry *dentry_new(struct dentry *parent, const char *name, size_t len, struct inode *inode);
struct dentry *dentry_find(struct dentry *dir, const char *name, size_t len);

static inline struct inode *inode_get(struct inode *i)
{
	i->refs++;
	return i;
}
void inode_put(struct inode *);
struct inode *inode_new(struct filesystem *, uint32_t mode, uint32_t rdev);
int inode_permission(const struct inode *, unsigned may);
void inode_touch(struct inode *, bool modified);	/* atime, or mtime and ctime */

/* Executables: while denied, opening for write is ETXTBSY. -ETXTBSY if somebody writes. */
int inode_deny_write(struct inode *);
void inode_allow_write(struct inode *);

/* Page cache. The frame that holds page n of a regular file, with one reference for the caller.
   Beyond the end of the file: -EFAULT is not returned here; see inode_page. */
#define PAGE_FIND 0u		/* only if present; *out is NULL for a hole */
#define PAGE_FILL 1u		/* a hole gets a zeroed frame */
int inode_page(struct inode *, uint32_t page, unsigned how, struct frame **out);
/* For mm: as inode_page with PAGE_FILL, but -ENXIO (SIGBUS) for a page that starts at or after the end. */
int inode_fault(struct inode *, uint32_t page, struct frame **out);
/* An unnamed regular file for shared anonymous memory; one reference. NULL: no memory. */
struct inode *inode_anonymous(uint64_t size);

/* Reads from a regular file into kernel memory; bytes read, short at the end of the file. */
long inode_read(struct inode *, void *buffer, size_t size, uint64_t offset);

/* mm provides: removes the mappings of pages [first, last] of the file from every address space. */
void mm_unmap_inode(struct inode *, uint32_t first, uint32_t last);

#endif
