/* mmap and its family (uapi asm-generic/mman-common.h, linux/mman.h). abi/mman.h has the numbers that differ. */
#ifndef ABI_MMAN_BASE_H
#define ABI_MMAN_BASE_H

#define PROT_NONE      0
#define PROT_READ      1
#define PROT_WRITE     2
#define PROT_EXEC      4
#define PROT_SEM       8
#define PROT_GROWSDOWN 0x01000000
#define PROT_GROWSUP   0x02000000
#define MAP_SHARED          0x01
#define MAP_PRIVATE         0x02
#define MAP_SHARED_VALIDATE 0x03
#define MAP_TYPE            0x0f
#define MAP_FIXED           0x10
#define MAP_ANONYMOUS       0x20
#define MAP_GROWSDOWN       0x0100
#define MAP_DENYWRITE       0x0800
#define MAP_EXECUTABLE      0x1000
#define MAP_POPULATE        0x8000
#define MAP_NONBLOCK        0x10000
#define MAP_STACK           0x20000
#define MAP_HUGETLB         0x40000
#define MAP_FIXED_NOREPLACE 0x100000
#define MAP_HUGE_SIZES      0x7c000000  /* MAP_HUGE_2MB, MAP_HUGE_1GB: of pages with MAP_HUGETLB */
#define MREMAP_MAYMOVE   1
#define MREMAP_FIXED     2
#define MREMAP_DONTUNMAP 4
#define MS_ASYNC      1
#define MS_INVALIDATE 2
#define MS_SYNC       4

enum {
	MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED,
	MADV_FREE = 8, MADV_REMOVE = 9, MADV_DONTFORK = 10, MADV_DOFORK = 11, MADV_DONTDUMP = 16, MADV_DODUMP = 17,
	MADV_WIPEONFORK = 18, MADV_KEEPONFORK = 19, MADV_COLD = 20, MADV_PAGEOUT = 21, MADV_POPULATE_READ = 22,
	MADV_POPULATE_WRITE = 23, MADV_DONTNEED_LOCKED = 24,
};

#define MLOCK_ONFAULT 1u

#endif
