/* The mapping with which the kernel starts (head.S), for C and assembly. */
#ifndef ARCH_BOOT_TABLES_H
#define ARCH_BOOT_TABLES_H

#define BOOT_TABLES 32          /* without pages of 4 MB: 128 MB of RAM */
#define LARGE_MOST  128         /* with them: 512 MB */
#define IO_VIRTUAL_ASM 0xf0000000       /* IO_VIRTUAL in C */

#endif
