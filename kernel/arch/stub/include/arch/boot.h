/* The boot protocol: what the boot loader says of memory, initramfs and command line. */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H

#include <frame.h>

/* Fills in `boot` (arch.h), all but the words of the command line. */
void boot_read(const void *given);
/* The memory that the allocator must not use beside the kernel's, in rising order: at most BOOT_RANGES. */
#define BOOT_RANGES 1u
unsigned boot_reserved(const void *given, struct frame_range *ranges);

#endif
