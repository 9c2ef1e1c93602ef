/* Status of System V objects (IPC_STAT, IPC_SET): uapi powerpc asm/ipcbuf.h, sembuf.h, shmbuf.h, msgbuf.h. */
#ifndef ABI_SYSV_STATUS_H
#define ABI_SYSV_STATUS_H
#include <types.h>

/* struct ipc64_perm of powerpc. */
struct sysv_perm_abi {
	s32 key;
	u32 uid, gid, cuid, cgid, mode, seq, pad;
	u64 unused[2];
};

/* semid64_ds of a 32-bit program. */
struct semid_ds {
	struct sysv_perm_abi perm;
	u32 otime_high, otime, ctime_high, ctime;
	u32 count, unused[2];
};

struct shmid_ds {
	struct sysv_perm_abi perm;
	u32 atime_high, atime, dtime_high, dtime, ctime_high, ctime, unused4;
	u32 size;
	s32 creator, last;
	u32 attachments, unused5, unused6;
};

struct msqid_ds {
	struct sysv_perm_abi perm;
	u32 stime_high, stime, rtime_high, rtime, ctime_high, ctime;
	u32 bytes, count, bytes_max;
	s32 last_sender, last_receiver;
	u32 unused[2];
};

#endif
