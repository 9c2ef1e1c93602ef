/* Advisory locks, as fcntl and flock ask for them. */
#ifndef FILE_LOCK_H
#define FILE_LOCK_H
#include <abi/fs.h>
#include <types.h>

struct file;

/* struct flock with every field wide enough for both forms of the ABI. */
struct record_lock {
	s16 type, whence;
	s64 start, length;
	s32 pid;
};

/*
 * Locks on the file of a descriptor. by_description: the lock belongs to the open file (F_OFD_*), not to the process.
 */
long lock_set(int fd, struct file *, const struct record_lock *, bool by_description, bool wait);
long lock_get(struct file *, struct record_lock *, bool by_description);
long lock_flock(int fd, struct file *, int operation);

#endif
