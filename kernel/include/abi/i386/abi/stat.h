/* The structures that the stat calls return (uapi x86 asm/stat.h). */
#ifndef ABI_STAT_H
#define ABI_STAT_H
#include <types.h>

struct stat32 {
	u32 dev, ino;
	u16 mode, nlink, uid, gid;
	u32 rdev;
	u32 size;
	u32 blksize, blocks;
	s32 atime;
	u32 atime_nsec;
	s32 mtime;
	u32 mtime_nsec;
	s32 ctime;
	u32 ctime_nsec;
	u32 unused[2];
};

/* The inode's number stands in it twice: the upper word only at the end. */
struct stat64 {
	u64 dev;
	u32 pad, ino_low;
	u32 mode, nlink, uid, gid;
	u64 rdev;
	u32 pad2;
	s64 size;
	u32 blksize;
	u64 blocks;
	s32 atime;
	u32 atime_nsec;
	s32 mtime;
	u32 mtime_nsec;
	s32 ctime;
	u32 ctime_nsec;
	u64 ino;
};

/* Fills in what no other ABI has. */
static inline void stat64_complete(struct stat64 *s) { s->ino_low = (u32)s->ino; }

_Static_assert(sizeof(struct stat32) == 64, "struct stat");
_Static_assert(sizeof(struct stat64) == 96, "struct stat64");

#endif
