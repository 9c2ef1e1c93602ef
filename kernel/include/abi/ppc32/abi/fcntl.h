/* Flags of open with PowerPC's numbers (uapi powerpc asm/fcntl.h). */
#ifndef ABI_FCNTL_H
#define ABI_FCNTL_H
#include <abi/fcntl_base.h>

#define O_DIRECTORY 040000
#define O_NOFOLLOW 0100000
#define O_LARGEFILE 0200000
#define O_DIRECT 0400000
#define O_TMPFILE 020040000

#endif
