/* The layout of the virtual address space. */
#ifndef ARCH_LAYOUT_H
#define ARCH_LAYOUT_H

#define USER_END       0x80000000u
#define USER_STACK_TOP 0x7fff0000u
#define KERNEL_BASE    0x80000000u
#define KERNEL_UNCACHED 0xc0000000u
#define KERNEL_BUFFERS 0xf8000000u
#define KERNEL_BUFFERS_SIZE 0x02000000u

#endif
