/* The layout of the virtual address space. */
#ifndef ARCH_LAYOUT_H
#define ARCH_LAYOUT_H

/*
 * User space is [PAGE_SIZE, USER_END); the kernel starts at KERNEL_BASE.
 * Segments 0 to 11 belong to the program, 12 to 15 to the kernel.
 */
#define USER_END   0xc0000000u
#define USER_STACK_TOP 0xbfff0000u

/* All RAM is mapped here, physical 0 first. */
#define KERNEL_BASE 0xc0000000u

/* All RAM again, past the cache, if a block address translation pair is free for it (arch_maps_uncached). */
#define KERNEL_UNCACHED 0xe0000000u

/* Buffers that are mapped one by one (policy kernel.buffers). No block address translation covers them. */
#define KERNEL_BUFFERS 0xf8000000u
#define KERNEL_BUFFERS_SIZE 0x02000000u

/* The registers of an OpenPIC, past what an 8xx pins for ISA's ports. */
#define OPENPIC_VIRTUAL 0xf0080000u

#endif
