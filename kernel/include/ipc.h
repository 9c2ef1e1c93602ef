/* Pipes, sockets, System V objects and message queues: what other parts call. */
#ifndef IPC_H
#define IPC_H
#include <types.h>

struct task;

void pipe_init(void);

/* Most message queues, and what one holds by default: messages, and bytes of a message. */
#define MQUEUES_MAX 256u
#define MQUEUE_COUNT_DEFAULT 10u
#define MQUEUE_SIZE_DEFAULT 8192u

/* Cancels the notifications of POSIX message queues of a process that ends. */
struct process;
void mqueue_process_exit(const struct process *);

/* System V semaphores: applies the adjustments (SEM_UNDO) of a process that exits. */
void sem_exit(struct task *);
/* CLONE_SYSVSEM: lets the child share current's adjustments; 0 or -ENOMEM. */
int sem_share_undos(struct task *child);

/* A task has closed its files: this may start a search for sockets that only files in their own queues refer to. */
void rights_task_ends(void);

#endif
