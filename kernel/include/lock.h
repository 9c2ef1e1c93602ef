/* Advisory locks, as fcntl and flock ask for them. */
#ifndef LOCK_H
#define LOCK_H

#include <types.h>

struct file;

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

/* struct flock with every field wide enough for both forms of the ABI. */
struct record_lock {
	s16 type, whence;
	s64 start, length;
	s32 pid;
};

/* by_description: the lock belongs to the open file (F_OFD_*), not to the process. */
long lock_set(struct file *, const struct record_lock *, bool by_description, bool wait);
long lock_get(struct file *, struct record_lock *, bool by_description);
long lock_flock(struct file *, int operation);

#endif
