/* Open files, descriptor tables and the iterator that moves data to and from the caller. */
#ifndef FILE_H
#define FILE_H
#include <abi/fcntl.h>
#include <abi/fs.h>
#include <deferred.h>
#include <fs.h>
#include <types.h>

struct async;
struct poll_table;
struct text;

/* Waits until cond holds, unless the file is O_NONBLOCK: 0, -EAGAIN or -ERESTARTSYS. */
#define file_wait_event(f, wq, cond) \
	((cond) ? 0 : (f)->flags & O_NONBLOCK ? -EAGAIN : wait_event(wq, cond))

#define TRANSFER_MAX 0x7ffff000u        /* bytes one call moves at most, as Linux's MAX_RW_COUNT */

/* A place in a list of memory pieces, in user space or (kernel = true) in the kernel. */
struct iter {
	const struct iovec *piece;
	size_t pieces;          /* pieces left, *piece included */
	size_t offset;          /* in *piece */
	size_t left;            /* bytes in all */
	size_t unwindowed;      /* bytes moved since the last interrupt window */
	bool kernel;
	struct iovec single;
};

static inline void iter_init(struct iter *it, void *base, size_t len, bool kernel)
{
	it->single.base = base;
	it->single.len = len;
	it->piece = &it->single;
	it->pieces = 1;
	it->offset = 0;
	it->left = len;
	it->unwindowed = 0;
	it->kernel = kernel;
}
/* An array of count iovecs already in the kernel; -EINVAL if the sum overflows ssize_t. */
int iter_init_vector(struct iter *, const struct iovec *, size_t count, bool kernel);
/* Copies up to n bytes and advances the iterator. Returns the bytes copied; -EFAULT only if there were none. */
long iter_write(struct iter *, const void *from, size_t n);     /* kernel object -> iterator's memory */
long iter_read(struct iter *, void *to, size_t n);              /* iterator's memory -> kernel object */
/*
 * The same; kernel.lock=fine: a long copy goes on without the kernel lock. Only where others may run anyway, because a
 * fault of the copy may sleep.
 */
long iter_write_apart(struct iter *, const void *from, size_t n);
long iter_read_apart(struct iter *, void *to, size_t n);
long iter_zero(struct iter *, size_t n);
/* The address of the next byte, and how many bytes the piece has from there. The iterator must not be at its end. */
void *iter_place(struct iter *, size_t *part);
void iter_advance(struct iter *, size_t n);     /* n is at most *part */
void iter_rewind(struct iter *, size_t n);      /* takes back the last n bytes */

/* The iovecs of a call, in kernel memory; the first few need no allocation. */
#define VECTOR_INLINE 8u
struct user_vector {
	struct iovec few[VECTOR_INLINE];
	struct iovec *piece;
	size_t count;
};
/*
 * Copies the iovecs, checks that they lie in user space, and sets the iterator to them. NULL: they are of another
 * process, and only copied. On -EINVAL (too many, or too many bytes), -EFAULT and -ENOMEM there is nothing to free.
 */
int user_vector_load(struct user_vector *, const struct iovec *user, size_t count, struct iter *);
void user_vector_free(struct user_vector *);

/* The result of a file's mmap operation. */
enum map_kind {
	MAP_KIND_INODE,         /* pages of file->inode */
	MAP_KIND_ZERO,          /* anonymous memory (/dev/zero) */
	MAP_KIND_DEVICE,        /* physical pages from device_address, cache-inhibited and guarded */
};
struct file_map {
	u64 offset;     /* bytes, page-aligned */
	size_t size;
	bool shared, write, execute;
	enum map_kind kind;     /* out */
	paddr_t device_address; /* out */
	bool never_written, never_executed;     /* out: mprotect must not permit it either */
};

/* Receives directory entries; returns false when full (the entry is then not consumed). */
struct dir_sink {
	bool (*add)(struct dir_sink *, const char *name, size_t len, u64 ino, unsigned type, u64 next);
};

struct file_ops {
	int (*open)(struct file *);
	long (*read)(struct file *, struct iter *, u64 *position);
	long (*write)(struct file *, struct iter *, u64 *position);
	unsigned (*poll)(struct file *, struct poll_table *);   /* NULL: always ready */
	long (*ioctl)(struct file *, unsigned command, uintptr_t argument);     /* NULL: ENOTTY */
	long (*fcntl)(struct file *, u32 command, u32 argument);        /* what only this kind has; NULL: EBADF */
	int (*mmap)(struct file *, struct file_map *);          /* NULL: ENODEV */
	int (*getdents)(struct file *, struct dir_sink *);
	s64 (*seek)(struct file *, s64 offset, int whence);     /* NULL: ESPIPE */
	void (*release)(struct file *);
	bool long_release;      /* release can take long: it runs at the end of a call (deferred.h) */
	void (*show)(const struct file *, struct text *);       /* more lines of /proc/<pid>/fdinfo; may be NULL */
	bool signals;           /* O_ASYNC works; not for files that signals make ready, such as a signalfd */
	u32 (*pages_held)(const struct file *); /* of kernel memory, freed with the file; NULL: hardly any */
};

struct file {
	u32 refs;
	u32 flags;              /* O_... */
	const struct file_ops *ops;
	struct inode *inode;
	struct dentry *dentry;  /* the name used to open it */
	u32 locks;              /* locks that this open file owns (fs/file_lock.c) */
	u64 position;
	union {
		struct mutex positioning;       /* of a regular file; held by the call that changes its position */
		struct deferred closing;        /* the last reference is gone */
	};
	void *data;             /* of the operations' owner */
	struct async *async;    /* who gets a signal at readiness (fs/async.c); NULL: nobody */
	struct list_head watches;       /* epoll items on this file (fs/epoll.c) */
};

#define FILE_READS(f) (((f)->flags & O_ACCMODE) != O_WRONLY)
#define FILE_WRITES(f) (((f)->flags & O_ACCMODE) != O_RDONLY)

/* The size of /dev/ram0 in KB (dev/ramdisk.c), set by the boot word ramdisk_size=<n>. */
extern u32 ramdisk_kilobytes;

/* Opens an inode by a dentry; both get their own references. ERR_PTR on error. */
struct file *file_open_dentry(struct dentry *, unsigned flags);
/* As open(2) with a kernel path; for exec and boot. Permissions of `current`. */
struct file *file_open(const char *path, unsigned flags, unsigned mode);
int file_unlink(const char *path);      /* as unlink(2) with a kernel path */
static inline struct file *file_get(struct file *f)
{
	f->refs++;
	return f;
}
void file_last_put(struct file *);      /* closes it */
static inline void file_put(struct file *f)     /* f may be NULL */
{
	if (f && --f->refs == 0)
		file_last_put(f);
}
/* Reads at an offset into kernel memory (exec's headers); bytes or a negative errno. */
long file_read_kernel(struct file *, void *buffer, size_t size, u64 offset);
/* Maps a file: checks its access mode (EACCES), then calls its mmap operation. */
int file_mmap(struct file *, struct file_map *);

/*
 * Copies between files through one page of kernel memory. `from` is the input's position, `to` the output's; both
 * advance by the bytes written.
 */
long file_copy_through(struct file *, u64 *from, struct file *out, u64 *to, size_t count);
/* For an offset that a caller may give or leave out (NULL). The second is false if its memory cannot be written. */
int offset_from_user(const s64 *user, u64 *at);
bool offset_to_user(s64 *user, u64 at);

/* What current->files points to: shared by CLONE_FILES. */
#define FILES_MAX (1u << 16)    /* descriptors, whatever RLIMIT_NOFILE says */
struct files {
	u32 refs;
	u32 size;               /* slots */
	struct list_head locks; /* record locks of the processes with this table (fs/file_lock.c) */
	u32 lock_count;
	u32 next_free;  /* all slots below it are used */
	u32 weighed;    /* the OOM killer's last count that has included this table */
	struct file **slot;
	u32 *cloexec;   /* one bit a slot */
};

struct files *files_new(void);                  /* NULL: no memory */
struct files *files_dup(struct files *);        /* for fork; NULL: no memory */
void files_put(struct files *);                 /* closes all with the last reference */
/*
 * Pages of kernel memory that the open files hold: data in pipes, sockets and message queues, and files in flight over
 * sockets. A file that several tables hold counts for each by its share. The out-of-memory killer chooses by it, so it
 * neither allocates nor sleeps.
 */
u32 files_pages_held(const struct files *);
/* For exec: a private table (CLONE_FILES undone) without the close-on-exec descriptors. */
int files_unshare(void);                        /* current->files gets refs == 1; -ENOMEM */
void close_on_exec(struct files *);

/* The file of a descriptor without a reference: until other tasks may run. NULL if there is none (EBADF). */
static inline struct file *fd_borrow(const struct files *t, int fd)
{
	return (u32)fd < t->size ? t->slot[fd] : NULL;
}

/* The same, referenced. */
static inline struct file *fd_get_from(const struct files *t, int fd)
{
	struct file *f = fd_borrow(t, fd);

	if (f)
		f->refs++;
	return f;
}
struct file *fd_get(int fd);    /* of `current` */
/*
 * The same for a file with these operations. ERR_PTR(-EBADF): no descriptor; ERR_PTR(otherwise): another kind of file.
 */
struct file *fd_get_of(int fd, const struct file_ops *ops, int otherwise);
/* Reserves a free descriptor number at or above `from`, until fd_install; -EMFILE, -ENOMEM. */
int fd_reserve(unsigned from);
/* Gives a reserved number its file. The table takes over the reference. */
void fd_install(int fd, struct file *, bool cloexec);
/* fd_reserve and fd_install; drops the reference on error. The file may be an ERR_PTR, whose error is returned. */
int fd_add(struct file *, bool cloexec);
/* Adds two files and stores their numbers in user[0] and user[1]: both or none. 0 or a negative errno. */
long fd_add_pair(struct file *first, struct file *second, bool cloexec, s32 *user);
int fd_close(int fd);
/* Undoes fd_add, unless another thread has closed the descriptor. The caller holds a reference to the file. */
void fd_take_back(int fd, const struct file *);
/* Installs the file at a number that may be in use (dup2). The table takes over the reference on success. */
int fd_replace(int fd, struct file *, bool cloexec);
bool fd_names(int fd, const struct file *);     /* the descriptor is open, on this file */
/* The descriptor must be open. */
int fd_cloexec(int fd);
void fd_set_cloexec(int fd, bool on);

/* Releases a table's record locks: on an inode, when any descriptor of it is closed; or all (fs/file_lock.c). */
void locks_release_descriptor(struct files *, struct inode *);
void locks_release_table(struct files *);
/* The locks of a file whose last reference is gone. Other tasks may run meanwhile. */
void locks_release_file(struct file *);
/* Removes the file from every epoll that watches it (fs/epoll.c). */
void epoll_forget(struct file *);
/* After connect() the file has other wait queues: moves its epoll waiters to them. */
void epoll_requeue(struct file *);
u32 epoll_items_most(void);     /* of one user */

#endif
