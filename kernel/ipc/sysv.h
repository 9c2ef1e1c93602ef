/* Shared by System V objects: keys, identifiers, permissions (svipc(7)). */
#ifndef SYSV_H
#define SYSV_H
#include <abi/sysv.h>
#include <abi/sysv_status.h>
#include <types.h>

#define SYSV_READ 4u
#define SYSV_WRITE 2u
#define SYSV_SLOTS_MAX 128u     /* objects of a kind */
#define SYSV_MESSAGE_MAX 8192u  /* bytes in one message */
#define SYSV_QUEUE_BYTES 16384u /* in a message queue, unless msgctl says otherwise */
#define SYSV_PER_SET_MAX 32000u /* semaphores in a set */
#define SYSV_OPERATIONS_MAX 500u        /* in one semop */

/* The first member of every object. */
struct sysv_perm {
	s32 id, key;
	u32 uid, gid, creator_uid, creator_gid, mode;
	u32 sequence;
	s64 changed;    /* when it was made, or set last */
};

union sysv_status {
	struct sysv_perm_abi perm;
	struct semid_ds sem;
	struct shmid_ds shm;
	struct msqid_ds msg;
};

/* A kind of object. Identifiers are slot + SYSV_SLOTS_MAX * how often the slot was used. */
struct sysv_table {
	u32 used, sequence;
	struct sysv_perm *slot[SYSV_SLOTS_MAX];
	/* For sysv_control(): the commands that name an object by its slot, and what only this kind's status has. */
	int stat, stat_any;
	size_t status_size;
	void (*status)(const struct sysv_perm *, union sysv_status *);
	long (*set)(struct sysv_perm *, const union sysv_status *);
	void (*remove)(struct sysv_perm *);
};

void *sysv_find(const struct sysv_table *, int id);     /* NULL: none */
void *sysv_at(const struct sysv_table *, int slot);     /* NULL: none */
/* The identifier for a key, checked against the flags; -ENOENT, -EEXIST, -EACCES. */
long sysv_get(const struct sysv_table *, s32 key, u32 flags, struct sysv_perm **found);
long sysv_add(struct sysv_table *, struct sysv_perm *, s32 key, u32 flags);     /* identifier, or -ENOSPC */
void sysv_remove(struct sysv_table *, struct sysv_perm *);
bool sysv_may(const struct sysv_perm *, u32 access);
bool sysv_owns(const struct sysv_perm *);
long sysv_highest(const struct sysv_table *);   /* highest slot in use, 0 if none */
/* The commands that all kinds have: status, IPC_SET and IPC_RMID. -EINVAL: any other. */
long sysv_control(struct sysv_table *, int id, int command, uaddr_t user);

#endif
