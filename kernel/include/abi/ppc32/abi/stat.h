/* The structures that the stat calls return (uapi powerpc asm/stat.h). */
#ifndef ABI_STAT_H
#define ABI_STAT_H
#include <types.h>

struct stat32 {
	u32 dev, ino, mode;
	u16 nlink;
	u32 uid, gid, rdev;
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
	u32 mode, nlink, uid, gid;
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

_Static_assert(sizeof(struct stat32) == 72, "struct stat");
_Static_assert(sizeof(struct stat64) == 104, "struct stat64");

#endif
