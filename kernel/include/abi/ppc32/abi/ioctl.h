/* Requests of ioctl. A number encodes direction, size and kind (uapi powerpc asm/ioctl.h, ioctls.h, linux/fs.h). */
#ifndef ABI_IOCTL_H
#define ABI_IOCTL_H
#include <types.h>

/* Direction (3 bits: 1 none, 2 the program reads, 4 it writes), size of the argument (13), kind (8), number (8). */
#define IOC(direction, kind, number, size) ((direction) << 29 | (u32)(size) << 16 | (u32)(kind) << 8 | (number))
#define IOC_NO_ARGUMENT(kind, number)  IOC(1u, kind, number, 0)
#define IOC_READ(kind, number, type)   IOC(2u, kind, number, sizeof(type))
#define IOC_WRITE(kind, number, type)  IOC(4u, kind, number, sizeof(type))

/* Any file. */
#define FIOCLEX    IOC_NO_ARGUMENT('f', 1)
#define FIONCLEX   IOC_NO_ARGUMENT('f', 2)
#define FIOASYNC   IOC_WRITE('f', 125, s32)
#define FIONBIO    IOC_WRITE('f', 126, s32)
#define FIONREAD   IOC_READ('f', 127, s32)

#include <abi/ioctl_base.h>

#endif
