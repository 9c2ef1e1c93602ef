/* Inodes and files that are in no directory: pipes, sockets, epoll. */
#ifndef ANON_H
#define ANON_H
#include <file.h>

/* A file on a new inode of the given mode, whose name reads "<kind>:[<ino>]". ERR_PTR on error. */
struct file *file_anonymous(const char *kind, u32 mode, u32 flags, const struct file_ops *ops, void *data);
/* As above, on an inode that exists (its reference stays with the caller). */
struct file *file_on_inode(struct inode *, const char *kind, u32 flags, const struct file_ops *ops, void *data);
struct inode *inode_nameless(u32 mode);
/*
 * A descriptor of a new file whose name reads "anon_inode:[<kind>]"; `flags` as open's. The file's release operation
 * frees `data`; if no file could be made, this function does (kfree).
 */
int fd_anonymous(const char *kind, u32 flags, const struct file_ops *ops, void *data);

#endif
