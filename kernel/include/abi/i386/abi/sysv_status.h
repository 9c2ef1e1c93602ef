/* Status of System V objects (IPC_STAT, IPC_SET): uapi asm-generic/ipcbuf.h, x86 asm/sembuf.h, shmbuf.h, msgbuf.h. */
#ifndef ABI_SYSV_STATUS_H
#define ABI_SYSV_STATUS_H
#include <types.h>

struct sysv_perm_abi {
	s32 key;
	u32 uid, gid, cuid, cgid;
	u16 mode, pad;
	u16 seq, pad2;
	u32 unused[2];
};

/* Each time has its low word first. */
struct semid_ds {
	struct sysv_perm_abi perm;
	u32 otime, otime_high, ctime, ctime_high;
	u32 count, unused[2];
};

struct shmid_ds {
	struct sysv_perm_abi perm;
	u32 size;
	u32 atime, atime_high, dtime, dtime_high, ctime, ctime_high;
	s32 creator, last;
	u32 attachments, unused[2];
};

struct msqid_ds {
	struct sysv_perm_abi perm;
	u32 stime, stime_high, rtime, rtime_high, ctime, ctime_high;
	u32 bytes, count, bytes_max;
	s32 last_sender, last_receiver;
	u32 unused[2];
};

_Static_assert(sizeof(struct sysv_perm_abi) == 36, "struct ipc64_perm");

#endif
