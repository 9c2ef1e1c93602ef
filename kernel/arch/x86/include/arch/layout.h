/* The layout of the virtual address space. */
#ifndef ARCH_LAYOUT_H
#define ARCH_LAYOUT_H

/* User space is [PAGE_SIZE, USER_END); the kernel starts at KERNEL_BASE. */
#define USER_END       0xc0000000u
#define USER_STACK_TOP 0xbfff0000u

/* All RAM is mapped here, physical 0 first. */
#define KERNEL_BASE 0xc0000000u

/* Nothing is mapped here (arch_maps_uncached). */
#define KERNEL_UNCACHED 0xe0000000u

/* Registers of devices in memory; the first page is the local APIC's of the processor that uses it. */
#define IO_VIRTUAL 0xf0000000u
#define APIC_VIRTUAL IO_VIRTUAL

/* Where a table of another address space is mapped for a while (aperture.h): 4 MB. */
#define WINDOW 0xf4000000u

/* Buffers that are mapped one by one (policy kernel.buffers). */
#define KERNEL_BUFFERS 0xf8000000u
#define KERNEL_BUFFERS_SIZE 0x02000000u

#endif
