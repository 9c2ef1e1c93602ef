/* Pipes, sockets, System V objects and message queues: what other parts call. */
#ifndef IPC_H
#define IPC_H

#include <types.h>

struct file;
struct inode;
struct task;

extern const struct file_ops fifo_ops;
void fifo_inode_gone(struct inode *);

/*
 * POSIX message queues. The first function cancels the notifications of a process that ends, the second registers the
 * limits in /proc/sys.
 */
struct process;
void mqueue_process_exit(const struct process *);
void mqueue_proc_init(void);

/* System V semaphores: applies the adjustments (SEM_UNDO) of a process that exits. */
void sem_exit(struct task *);
/* CLONE_SYSVSEM: lets the child share current's adjustments; 0 or -ENOMEM. */
int sem_share_undos(struct task *child);

/* A task has closed its files: this may start a search for sockets that only files in their own queues refer to. */
void rights_task_ends(void);

#endif
