/* Flags of open with the numbers of uapi asm-generic/fcntl.h. */
#ifndef ABI_FCNTL_H
#define ABI_FCNTL_H
#include <abi/fcntl_base.h>

#define O_DIRECTORY 0200000
#define O_NOFOLLOW 0400000
#define O_LARGEFILE 0100000
#define O_DIRECT 040000
#define O_TMPFILE 020200000

_Static_assert(sizeof(struct flock64) == 24, "struct flock64");

#endif
