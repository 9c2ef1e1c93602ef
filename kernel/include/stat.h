/* The structures of the stat and statfs families (Linux uapi: powerpc asm/stat.h, linux/stat.h, asm-generic/statfs.h). */
#ifndef STAT_H
#define STAT_H

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

struct statx_time {
	s64 sec;
	u32 nsec;
	s32 reserved;
};

struct statx {
	u32 mask, blksize;
	u64 attributes;
	u32 nlink, uid, gid;
	u16 mode, spare0;
	u64 ino, size, blocks, attributes_mask;
	struct statx_time atime, btime, ctime, mtime;
	u32 rdev_major, rdev_minor, dev_major, dev_minor;
	u64 mount_id;
	u32 dio_memory_align, dio_offset_align;
	u64 spare3[12];
};

struct statfs32 {
	u32 type, bsize, blocks, bfree, bavail, files, ffree;
	s32 fsid[2];
	u32 namelen, frsize, flags, spare[4];
};

struct statfs64 {
	u32 type, bsize;
	u64 blocks, bfree, bavail, files, ffree;
	s32 fsid[2];
	u32 namelen, frsize, flags, spare[4];
};

_Static_assert(sizeof(struct stat32) == 72, "struct stat");
_Static_assert(sizeof(struct stat64) == 104, "struct stat64");
_Static_assert(sizeof(struct statx) == 256, "struct statx");
_Static_assert(sizeof(struct statfs32) == 64, "struct statfs");
_Static_assert(sizeof(struct statfs64) == 88, "struct statfs64");

#endif
