/* Pipes, sockets and System V objects, as far as others need to see them. */
#ifndef IPC_H
#define IPC_H

#include <types.h>

struct file;
struct inode;
struct task;

extern const struct file_ops fifo_ops;
void fifo_inode_gone(struct inode *);

/* POSIX message queues: nobody is left to be told of messages; and their limits in /proc/sys. */
struct process;
void mqueue_process_exit(const struct process *);
void mqueue_proc_init(void);

/* System V semaphores: adjustments (SEM_UNDO) of a process that exits. */
void sem_exit(struct task *);
/* CLONE_SYSVSEM: the child shares current's adjustments; 0 or -ENOMEM. */
int sem_share_undos(struct task *child);

/*
 * Between the two, files in flight that come to be closed wait: who ends closes many sockets. The second gets what the
 * first returned.
 */
bool rights_delay(void);
void rights_continue(bool delayed);

#endif
