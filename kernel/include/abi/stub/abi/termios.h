/* Terminal settings and requests, with requests as in asm-generic/ioctls.h. */
#ifndef ABI_TERMIOS_H
#define ABI_TERMIOS_H

#include <abi/ioctl.h>

#define NCCS 19
enum {
	VINTR, VQUIT, VERASE, VKILL, VEOF, VMIN, VEOL, VTIME, VEOL2, VSWTC, VWERASE, VREPRINT, VSUSP, VSTART, VSTOP,
	VLNEXT,
};

struct termios {
	u32 iflag, oflag, cflag, lflag;
	u8 cc[NCCS];
	u8 line;
	u32 ispeed, ospeed;
};

struct termio {		/* the old form */
	u16 iflag, oflag, cflag, lflag;
	u8 line;
	u8 cc[10];
};

struct winsize {
	u16 row, col, xpixel, ypixel;
};

_Static_assert(sizeof(struct termios) == 44, "struct termios");
_Static_assert(sizeof(struct termio) == 20, "struct termio");

#define ISTRIP 0x0020u
#define INLCR 0x0040u
#define IGNCR 0x0080u
#define ICRNL 0x0100u
#define IXON 0x0200u
#define IXANY 0x0800u
#define IUTF8 0x4000u
#define OPOST 0x0001u
#define ONLCR 0x0002u
#define OCRNL 0x0008u
#define ONOCR 0x0010u
#define ONLRET 0x0020u
#define TABDLY 0x0c00u
#define XTABS 0x0c00u
#define B38400 0x000fu
#define CS8 0x0300u
#define CREAD 0x0800u
#define HUPCL 0x4000u
#define ECHOKE 0x00000001u
#define ECHOE 0x00000002u
#define ECHOK 0x00000004u
#define ECHO 0x00000008u
#define ECHONL 0x00000010u
#define ECHOCTL 0x00000040u
#define ISIG 0x00000080u
#define ICANON 0x00000100u
#define IEXTEN 0x00000400u
#define TOSTOP 0x00400000u
#define NOFLSH 0x80000000u

#define TCGETS 0x5401u
#define TCSETS 0x5402u
#define TCSETSW 0x5403u
#define TCSETSF 0x5404u
#define TCGETA 0x5405u
#define TCSETA 0x5406u
#define TCSETAW 0x5407u
#define TCSETAF 0x5408u
#define TCSBRK 0x5409u
#define TCXONC 0x540au
#define TCFLSH 0x540bu
#define TIOCSWINSZ 0x5414u
#define TIOCGWINSZ 0x5413u
#define TIOCOUTQ 0x5411u
#define TIOCSPGRP 0x5410u
#define TIOCGPGRP 0x540fu
#define TIOCEXCL 0x540cu
#define TIOCNXCL 0x540du
#define TIOCSCTTY 0x540eu
#define TIOCSTI 0x5412u
#define TIOCMGET 0x5415u
#define TIOCNOTTY 0x5422u
#define TIOCSETD 0x5423u
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
