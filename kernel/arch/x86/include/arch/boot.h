/* The boot protocol: what the boot loader says of memory, initramfs and command line. Here by Multiboot. */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H

/* Fills in `boot` (arch.h), all but the words of the command line. */
void boot_read(const void *given);
/* Starts the allocator of frames, which must not use what the boot loader has left. */
void boot_frames(const void *given);

#endif
