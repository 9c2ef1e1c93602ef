/* Settings of terminals, and requests with PowerPC's own numbers (uapi powerpc asm/termbits.h, asm/ioctls.h). */
#ifndef ABI_TERMIOS_H
#define ABI_TERMIOS_H
#include <abi/termios_base.h>

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

/* Initialises the speeds. */
#define TERMIOS_SPEEDS(speed) .ispeed = (speed), .ospeed = (speed),

struct termio {         /* the old form */
	u16 iflag, oflag, cflag, lflag;
	u8 line;
	u8 cc[10];
	u8 pad;
};
#define TERMIO_ORDER VINTR, VQUIT, VERASE, VKILL, VEOF, VMIN, VEOL, VTIME, VEOL2, VSWTC

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

#define TCGETS IOC_READ('t', 19, struct termios)
#define TCSETS IOC_WRITE('t', 20, struct termios)
#define TCSETSW IOC_WRITE('t', 21, struct termios)
#define TCSETSF IOC_WRITE('t', 22, struct termios)
#define TCGETA IOC_READ('t', 23, struct termio)
#define TCSETA IOC_WRITE('t', 24, struct termio)
#define TCSETAW IOC_WRITE('t', 25, struct termio)
#define TCSETAF IOC_WRITE('t', 28, struct termio)
#define TCSBRK IOC_NO_ARGUMENT('t', 29)
#define TCXONC IOC_NO_ARGUMENT('t', 30)
#define TCFLSH IOC_NO_ARGUMENT('t', 31)
#define TIOCSWINSZ IOC_WRITE('t', 103, struct winsize)
#define TIOCGWINSZ IOC_READ('t', 104, struct winsize)
#define TIOCOUTQ IOC_READ('t', 115, s32)
#define TIOCSPGRP IOC_WRITE('t', 118, s32)
#define TIOCGPGRP IOC_READ('t', 119, s32)

#endif
