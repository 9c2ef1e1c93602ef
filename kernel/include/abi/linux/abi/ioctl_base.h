/* Requests of ioctl that all share, or that abi/ioctl.h encodes alike (uapi asm-generic/sockios.h, linux/fs.h). */
#ifndef ABI_IOCTL_BASE_H
#define ABI_IOCTL_BASE_H

#define FIOSETOWN  0x8901u
#define SIOCSPGRP  0x8902u
#define FIOGETOWN  0x8903u
#define SIOCGPGRP  0x8904u
#define SIOCATMARK 0x8905u
#define SIOCOUTQNSD 0x894bu

/* Network devices. The number after a request SIOCG... is that of SIOCS..., which changes what the first reports. */
#define SIOCGIFNAME    0x8910u
#define SIOCGIFCONF    0x8912u
#define SIOCGIFFLAGS   0x8913u
#define SIOCGIFADDR    0x8915u
#define SIOCGIFDSTADDR 0x8917u
#define SIOCGIFBRDADDR 0x8919u
#define SIOCGIFNETMASK 0x891bu
#define SIOCGIFMETRIC  0x891du
#define SIOCGIFMTU     0x8921u
#define SIOCGIFHWADDR  0x8927u
#define SIOCGIFINDEX   0x8933u
#define SIOCGIFTXQLEN  0x8942u
#define SIOCGIFMAP     0x8970u

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
