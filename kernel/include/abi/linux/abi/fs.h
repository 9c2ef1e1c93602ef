/*
 * Files: modes, flags of the calls, directory entries, statx, statfs (uapi linux/stat.h, fcntl.h, fs.h, memfd.h,
 * xattr.h, asm-generic/statfs.h).
 */
#ifndef ABI_FS_H
#define ABI_FS_H
#include <types.h>

#define PATH_MAX 4096
#define NAME_MAX 255

/* File type and mode bits (POSIX <sys/stat.h>, Linux values). */
#define S_IFMT 0170000
#define S_IFSOCK 0140000
#define S_IFLNK 0120000
#define S_IFREG 0100000
#define S_IFBLK 0060000
#define S_IFDIR 0040000
#define S_IFCHR 0020000
#define S_IFIFO 0010000
#define S_ISUID 04000
#define S_ISGID 02000
#define S_ISVTX 01000
#define S_ISREG(m) (((m) & S_IFMT) == S_IFREG)
#define S_ISDIR(m) (((m) & S_IFMT) == S_IFDIR)
#define S_ISLNK(m) (((m) & S_IFMT) == S_IFLNK)
#define S_ISCHR(m) (((m) & S_IFMT) == S_IFCHR)
#define S_ISBLK(m) (((m) & S_IFMT) == S_IFBLK)
#define S_ISFIFO(m) (((m) & S_IFMT) == S_IFIFO)
#define S_ISSOCK(m) (((m) & S_IFMT) == S_IFSOCK)

#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100u
#define AT_EMPTY_PATH 0x1000u

#define AT_NO_AUTOMOUNT 0x800u
#define AT_STATX_SYNC_TYPE 0x6000u
#define STATX_RESERVED 0x80000000u
#define STATX_BASIC_STATS 0x7ffu
#define ST_RDONLY 1u
#define ST_VALID 0x20u

#define AT_SYMLINK_FOLLOW 0x400u
#define AT_REMOVEDIR 0x200u
#define RENAME_NOREPLACE 1u
#define RENAME_EXCHANGE 2u

#define AT_EACCESS 0x200u
#define FALLOC_KEEP_SIZE 1
#define FALLOC_PUNCH_HOLE 2
#define FALLOC_ZERO_RANGE 16

#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define SEEK_DATA 3
#define SEEK_HOLE 4

struct iovec {
	void *base;
	size_t len;
};
#define IOV_MAX 1024

#define F_RDLCK 0
#define F_WRLCK 1
#define F_UNLCK 2

#define LOCK_SH 1
#define LOCK_EX 2
#define LOCK_NB 4
#define LOCK_UN 8

#define CLOSE_RANGE_UNSHARE 2u
#define CLOSE_RANGE_CLOEXEC 4u

#define RWF_HIPRI 1u
#define RWF_DSYNC 2u
#define RWF_SYNC 4u

#define SPLICE_F_NONBLOCK 2u
#define SPLICE_F_MORE 4u
#define SPLICE_F_ALL 15u        /* MOVE and GIFT are hints */

#define F_SEAL_SEAL 1u
#define F_SEAL_SHRINK 2u
#define F_SEAL_GROW 4u
#define F_SEAL_WRITE 8u
#define F_SEAL_FUTURE_WRITE 16u
#define F_SEALS 31u

#define MFD_CLOEXEC 1u
#define MFD_ALLOW_SEALING 2u

#define XATTR_CREATE 1u
#define XATTR_REPLACE 2u
#define XATTR_NAME_MAX 255u
#define XATTR_SIZE_MAX 65536u

#define MS_RDONLY 1u
/* The same bits as statfs has for these. */
#define MS_NOSUID 2u
#define MS_NODEV 4u
#define MS_NOEXEC 8u
#define MS_REMOUNT 32u

struct dirent64 {
	u64 ino;
	s64 next;
	u16 size;
	u8 type;
	char name[];
} __attribute__((packed));

struct dirent32 {
	u32 ino, next;
	u16 size;
	char name[];
} __attribute__((packed));

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

/* statfs's f_type (uapi linux/magic.h). */
#define TMPFS_MAGIC  0x01021994u
#define PROC_MAGIC   0x9fa0u
#define SYSFS_MAGIC  0x62656572u
#define DEVPTS_MAGIC 0x1cd1u

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

_Static_assert(sizeof(struct statx) == 256, "struct statx");
_Static_assert(sizeof(struct statfs32) == 64, "struct statfs");
/* Its size depends on how an ABI aligns 64-bit numbers. */
_Static_assert(sizeof(struct statfs64) == offsetof(struct statfs64, blocks) + 76 + 4 * (_Alignof(struct statfs64) == 8),
	       "struct statfs64");

/* openat2 (uapi linux/openat2.h) */
struct open_how {
	u64 flags, mode, resolve;
};
#define RESOLVE_NO_XDEV 1u
#define RESOLVE_NO_MAGICLINKS 2u
#define RESOLVE_NO_SYMLINKS 4u
#define RESOLVE_BENEATH 8u
#define RESOLVE_IN_ROOT 16u
#define RESOLVE_CACHED 32u
#define RESOLVE_ALL 63u

#endif
