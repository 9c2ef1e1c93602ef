/* Registering files in /proc, whose text is generated at the first read of an open file. */
#ifndef PROCFS_H
#define PROCFS_H
#include <stddef.h>

struct file;
struct process;
struct text;

/*
 * path is relative to /proc ("mmu/hash"); directories are created as needed. show writes the whole text. store (NULL:
 * read-only) gets the bytes of one write(2), NUL-terminated; 0 or a negative errno.
 */
void proc_file(const char *path, void (*show)(struct text *), int (*store)(const char *, size_t));

/* A symbolic link in /proc. */
void proc_link(const char *path, const char *target);

/* The process of an open directory /proc/<pid>. ERR_PTR(-ESRCH): it has ended; -EBADF: another kind of file. */
struct process *proc_directory_process(const struct file *f);

/* Registers the files about the whole system (stat/proc_system.c); after kmalloc works. */
void procfs_init(void);

#endif
