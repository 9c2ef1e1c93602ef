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

#include <abi/ioctl_base.h>

#endif
