/* Signals for a file's readiness (fcntl: O_ASYNC, F_SETOWN, F_SETSIG). */
#ifndef ASYNC_H
#define ASYNC_H
#include <types.h>

struct file;

/* As struct f_owner_ex. */
enum { ASYNC_THREAD, ASYNC_PROCESS, ASYNC_GROUP };
struct async_owner {
	s32 type, id;   /* id 0: nobody */
};

/* Starts or stops the signals (O_ASYNC). 0 or -ENOMEM. */
int async_switch(struct file *, int fd, bool on);
/* Sets who gets the signals: 0, -ESRCH, -ENOMEM. */
int async_set_owner(struct file *, const struct async_owner *);
struct async_owner async_owner(const struct file *);    /* id 0: the owner has ended */
/* Sets which signal is sent (0: SIGIO): 0, -EINVAL, -ENOMEM. */
int async_set_signal(struct file *, int fd, u32 sig);
int async_signal(const struct file *);
/* The file has other wait queues: moves its waiters to them. */
void async_requeue(struct file *);
/* Frees file->async, when the file is freed. */
void async_forget(struct file *);

/* Signals urgent data to the owner, if there is one (SIGURG), with or without O_ASYNC. */
void async_urgent(const struct file *);

#endif
