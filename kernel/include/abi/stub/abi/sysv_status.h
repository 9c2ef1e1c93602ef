/* Status of System V objects (IPC_STAT, IPC_SET). Each time has its low word first. */
#ifndef ABI_SYSV_STATUS_H
#define ABI_SYSV_STATUS_H
#include <types.h>

/* asm-generic/ipcbuf.h */
struct sysv_perm_abi {
	s32 key;
	u32 uid, gid, cuid, cgid, mode;
	u16 seq, pad;
	u32 unused[2];
};

/* semid64_ds of a 32-bit program. */
struct semid_ds {
	struct sysv_perm_abi perm;
	u32 otime, otime_high, ctime, ctime_high;
	u32 count, unused[2];
};

struct shmid_ds {
	struct sysv_perm_abi perm;
	u32 atime, atime_high, dtime, dtime_high, ctime, ctime_high, unused4;
	u32 size;
	s32 creator, last;
	u32 attachments, unused5, unused6;
};

struct msqid_ds {
	struct sysv_perm_abi perm;
	u32 stime, stime_high, rtime, rtime_high, ctime, ctime_high;
	u32 bytes, count, bytes_max;
	s32 last_sender, last_receiver;
	u32 unused[2];
};

#endif
