/* The structures that the stat calls return, with the fields in an order of the stub's own. */
#ifndef ABI_STAT_H
#define ABI_STAT_H
#include <types.h>

struct stat32 {
	u32 dev, ino;
	u16 mode, nlink, uid, gid;
	u32 rdev;
	s32 size;
	u32 blksize, blocks;
	s32 atime;
	u32 atime_nsec;
	s32 mtime;
	u32 mtime_nsec;
	s32 ctime;
	u32 ctime_nsec;
	u32 unused[2];
};

struct stat64 {
	u64 dev, ino;
	u32 nlink, mode, gid, uid;
	u64 rdev;
	u16 pad;
	s64 size;
	s32 blksize;
	s64 blocks;
	s32 atime;
	u32 atime_nsec;
	s32 mtime;
	u32 mtime_nsec;
	s32 ctime;
	u32 ctime_nsec;
	u32 unused[2];
};

/* Fills in what no other ABI has: nothing. */
static inline void stat64_complete(struct stat64 *s) { (void)s; }

#endif
