/* Requests of a terminal that all share (uapi asm-generic/ioctls.h, asm-generic/termios.h). */
#ifndef ABI_TERMIOS_BASE_H
#define ABI_TERMIOS_BASE_H
#include <abi/ioctl.h>

struct winsize {
	u16 row, col, xpixel, ypixel;
};

#define TIOCEXCL 0x540cu
#define TIOCNXCL 0x540du
#define TIOCSCTTY 0x540eu
#define TIOCSTI 0x5412u
#define TIOCMGET 0x5415u
#define TIOCNOTTY 0x5422u
#define TIOCGETD 0x5424u
#define TCSBRKP 0x5425u
#define TIOCGSID 0x5429u
#define TIOCGLCKTRMIOS 0x5456u
#define TIOCSLCKTRMIOS 0x5457u
#define TIOCGPTN IOC_READ('T', 0x30, u32)
#define TIOCSPTLCK IOC_WRITE('T', 0x31, s32)
#define TIOCSIG IOC_WRITE('T', 0x36, s32)
#define TIOCGPTLCK IOC_READ('T', 0x39, s32)
#define TIOCGPTPEER IOC_NO_ARGUMENT('T', 0x41)

#endif
