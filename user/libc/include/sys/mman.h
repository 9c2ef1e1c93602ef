#ifndef PAGEWALK_SYS_MMAN_H
#define PAGEWALK_SYS_MMAN_H

#include <sys/types.h>

#define PROT_NONE     0
#define PROT_READ     1
#define PROT_WRITE    2
#define PROT_EXEC     4
#define MAP_SHARED    1
#define MAP_PRIVATE   2
#define MAP_FIXED     0x10
#define MAP_ANONYMOUS 0x20
#define MAP_FAILED    ((void *)-1)

/* `offset` is in bytes: `mmap2` is not in Linux 2.2. */
void *mmap(void *where, size_t size, int protection, int flags, int fd, unsigned long offset);
int munmap(void *where, size_t size);
int mprotect(void *where, size_t size, int protection);

#endif
