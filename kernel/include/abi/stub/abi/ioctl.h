/* Requests of ioctl, with a direction of two bits and a size of fourteen, as in asm-generic/ioctl.h. */
#ifndef ABI_IOCTL_H
#define ABI_IOCTL_H

#include <types.h>

/* Direction (1 the program writes, 2 it reads), size of the argument, kind (8), number (8). */
#define IOC(direction, kind, number, size) ((direction) << 30 | (u32)(size) << 16 | (u32)(kind) << 8 | (number))
#define IOC_NO_ARGUMENT(kind, number)  IOC(0u, kind, number, 0)
#define IOC_READ(kind, number, type)   IOC(2u, kind, number, sizeof(type))
#define IOC_WRITE(kind, number, type)  IOC(1u, kind, number, sizeof(type))

/* Any file. */
#define FIOCLEX    0x5451u
#define FIONCLEX   0x5450u
#define FIOASYNC   0x5452u
#define FIONBIO    0x5421u
#define FIONREAD   0x541bu
#define FIOSETOWN  0x8901u
#define SIOCSPGRP  0x8902u
#define FIOGETOWN  0x8903u
#define SIOCGPGRP  0x8904u
#define SIOCATMARK 0x8905u

/* Block devices. */
#define BLKROSET     IOC_NO_ARGUMENT(0x12, 93)
#define BLKROGET     IOC_NO_ARGUMENT(0x12, 94)
#define BLKGETSIZE   IOC_NO_ARGUMENT(0x12, 96)
#define BLKFLSBUF    IOC_NO_ARGUMENT(0x12, 97)
#define BLKSSZGET    IOC_NO_ARGUMENT(0x12, 104)
#define BLKPBSZGET   IOC_NO_ARGUMENT(0x12, 123)
#define BLKBSZGET    IOC_READ(0x12, 112, size_t)
#define BLKGETSIZE64 IOC_READ(0x12, 114, size_t)

#endif
