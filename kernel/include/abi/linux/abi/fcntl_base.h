/* open, fcntl and record locks (uapi asm-generic/fcntl.h). abi/fcntl.h has the numbers that differ. */
#ifndef ABI_FCNTL_BASE_H
#define ABI_FCNTL_BASE_H
#include <types.h>

#define O_ACCMODE 03
#define O_RDONLY 00
#define O_WRONLY 01
#define O_RDWR 02
#define O_CREAT 0100
#define O_EXCL 0200
#define O_NOCTTY 0400
#define O_TRUNC 01000
#define O_APPEND 02000
#define O_NONBLOCK 04000
#define O_DSYNC 010000
#define O_SYNC 04010000
#define O_ASYNC 020000
#define O_NOATIME 01000000
#define O_CLOEXEC 02000000
#define O_PATH 010000000

#define F_DUPFD 0
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define F_GETLK 5       /* with struct flock32, whose offsets have 32 bits */
#define F_SETLK 6
#define F_SETLKW 7
#define F_SETOWN 8
#define F_GETOWN 9
#define F_SETSIG 10
#define F_GETSIG 11
#define F_GETLK64 12    /* with struct flock64 */
#define F_SETLK64 13
#define F_SETLKW64 14
#define F_SETOWN_EX 15
#define F_GETOWN_EX 16
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#define F_DUPFD_CLOEXEC 1030
#define F_SETPIPE_SZ 1031
#define F_GETPIPE_SZ 1032
#define F_ADD_SEALS 1033
#define F_GET_SEALS 1034
#define FD_CLOEXEC 1u

struct flock32 {
	s16 type, whence;
	s32 start, length, pid;
};

struct flock64 {
	s16 type, whence;
	s64 start, length;
	s32 pid;
};

#endif
