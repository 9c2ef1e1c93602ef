/* Requests of ioctl that all share, or that abi/ioctl.h encodes alike (uapi asm-generic/sockios.h, linux/fs.h). */
#ifndef ABI_IOCTL_BASE_H
#define ABI_IOCTL_BASE_H

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
