/* Shared by the files of fs/. */
#ifndef FS_INTERNAL_H
#define FS_INTERNAL_H
#include <filesystem.h>
#include <fs.h>

struct file_map;

/* fs/page.c */
/* Finds the first page at `*page` or beyond and sets `*page` to it; false: there is none. */
bool page_next(const struct page_tree *, u32 *page);

/* Operations of areas that map a file (mm.h). */
struct vma;
struct frame *object_fault(const struct vma *, u32 page);
struct frame *object_present(const struct vma *, u32 page);

/* fs/dentry.c: names in a directory. */
int dentry_link(struct dentry *dir, const char *name, size_t len, struct inode *inode, struct dentry **out);
int dentry_unlink(struct dentry *);
int dentry_move(struct dentry *, struct dentry *dir, const char *name, size_t len);
int dentry_exchange(struct dentry *, struct dentry *);  /* two names in directories, not the same one */
extern u32 dentry_moves;        /* how often names have moved to other places of the tree */
bool dentry_within(const struct dentry *, const struct dentry *ancestor);

/* fs/attribute.c: looks up a call's path by the AT_ flags; referenced. */
int lookup_user(int dirfd, const char *user_path, u32 flags, struct dentry **out);

/*
 * fs/stat.c: the dentry of a descriptor, referenced. A reference to the inode alone would not keep its file system
 * mounted while the caller sleeps.
 */
int dentry_of_fd(int fd, struct dentry **out);

/* fs/memfd.c: 0; -EPERM: a seal forbids a write up to `end`, a new size, or a mapping. */
int seals_check_write(const struct inode *, u64 end);
int seals_check_size(const struct inode *, u64 size);
int seals_check_map(const struct inode *, struct file_map *);
long seals_get(const struct file *);
long seals_add(struct file *, u32 seals);

/* fs/xattr.c */
void xattrs_free(struct inode *);

/* fs/inode.c */
#define FILE_SIZE_MAX 0xffffffff000ull  /* page numbers have 32 bits */
int inode_add_page(struct inode *, u32 page, struct frame *);
int inode_resize(struct inode *, u64 size);
void inode_punch(struct inode *, u64 from, u64 to);
long inode_write_kernel(struct inode *, const void *, size_t size, u64 offset);
/* For SEEK_DATA and SEEK_HOLE: the next offset with or without a page; -ENXIO. */
s64 inode_next(const struct inode *, u64 offset, bool data);

/* fs/ramfs.c */
extern struct file_ops ramfs_file_ops;          /* policy file.wait changes its read operation */
extern const struct file_ops ramfs_dir_ops;
int ramfs_set_link_text(struct inode *, const char *text, size_t len);

/* fs/access.c */
bool may_change(const struct inode *);  /* the caller owns it, or is the superuser */
void inode_drop_privileges(struct inode *);     /* clears set-ID bits when another user writes */
struct file_time file_time_now(void);

/* fs/file_lock.c */
void locks_release_file(struct file *);

/* fs/open.c */
long fd_dup_from(int fd, u32 from, bool cloexec);

#endif
