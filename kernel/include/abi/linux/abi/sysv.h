/*
 * System V objects and POSIX message queues: commands and structures (uapi linux/ipc.h, sem.h, shm.h, msg.h, mqueue.h).
 */
#ifndef ABI_SYSV_H
#define ABI_SYSV_H
#include <types.h>

#define IPC_PRIVATE 0
#define IPC_CREAT 01000u
#define IPC_EXCL 02000u
#define IPC_NOWAIT 04000u
#define IPC_RMID 0
#define IPC_SET 1
#define IPC_STAT 2
#define IPC_INFO 3
#define IPC_64 0x100    /* the form of the status structures; the only one offered */

enum {
	SEMOP = 1, SEMGET = 2, SEMCTL = 3, SEMTIMEDOP = 4,
	MSGSND = 11, MSGRCV = 12, MSGGET = 13, MSGCTL = 14,
	SHMAT = 21, SHMDT = 22, SHMGET = 23, SHMCTL = 24,
};

#define SEM_UNDO 0x1000

enum { GETPID = 11, GETVAL, GETALL, GETNCNT, GETZCNT, SETVAL, SETALL, SEM_STAT, SEM_INFO, SEM_STAT_ANY };

struct sembuf {
	u16 number;
	s16 change;
	s16 flags;
};

struct seminfo {
	s32 map, sets, semaphores, undos, per_set, operations, undo_entries, undo_size, value_max, adjust_max;
};

#define SHM_RDONLY 010000u
#define SHM_RND 020000u
#define SHM_REMAP 040000u
#define SHM_EXEC 0100000u
#define SHM_DEST 01000u         /* in the mode that IPC_STAT returns: removed with the last attachment */

enum { SHM_LOCK = 11, SHM_UNLOCK, SHM_STAT, SHM_INFO, SHM_STAT_ANY };

struct shminfo {
	u32 size_max, size_min, segments_max, per_process_max, pages_max, unused[4];
};

struct shm_info {
	s32 used;
	u32 total, resident, swapped, swap_attempts, swap_successes;
};

#define MSG_NOERROR 010000u
#define MSG_EXCEPT 020000u

enum { MSG_STAT = 11, MSG_INFO, MSG_STAT_ANY };

struct msginfo {
	s32 pool, map, message_max, queue_bytes, queues_max, segment_size, headers;
	u16 segments, pad;
};

struct mq_attr {
	s32 flags, count_max, size_max, count;
	s32 reserved[4];
};

#endif
