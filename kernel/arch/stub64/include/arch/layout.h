/* The layout of a virtual address space of 39 bits. */
#ifndef ARCH_LAYOUT_H
#define ARCH_LAYOUT_H

#define USER_END       0x0000004000000000ull
#define USER_STACK_TOP 0x0000003fffff0000ull
#define KERNEL_BASE    0xffffffc000000000ull
#define KERNEL_UNCACHED 0xffffffd000000000ull
#define KERNEL_BUFFERS 0xfffffff800000000ull
#define KERNEL_BUFFERS_SIZE 0x02000000ull

#endif
