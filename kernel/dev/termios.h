/* Terminal settings and requests, PowerPC's numbers (Linux uapi powerpc asm/termbits.h, asm/ioctls.h, asm/termios.h). */
#ifndef TERMIOS_H
#define TERMIOS_H

#include <types.h>

#define NCCS 19
enum { VINTR, VQUIT, VERASE, VKILL, VEOF, VMIN, VEOL, VTIME, VEOL2, VSWTC, VWERASE, VREPRINT, VSUSP, VSTART, VSTOP, VLNEXT };

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

#define TCGETS 0x402c7413u
#define TCSETS 0x802c7414u
#define TCSETSW 0x802c7415u
#define TCSETSF 0x802c7416u
#define TCGETA 0x40147417u
#define TCSETA 0x80147418u
#define TCSETAW 0x80147419u
#define TCSETAF 0x8014741cu
#define TCSBRK 0x2000741du
#define TCXONC 0x2000741eu
#define TCFLSH 0x2000741fu
#define TIOCSWINSZ 0x80087467u
#define TIOCGWINSZ 0x40087468u
#define TIOCOUTQ 0x40047473u
#define TIOCSPGRP 0x80047476u
#define TIOCGPGRP 0x40047477u
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
#define TIOCGPTN 0x40045430u
#define TIOCSPTLCK 0x80045431u
#define TIOCSIG 0x80045436u
#define TIOCGPTLCK 0x40045439u
#define TIOCGPTPEER 0x20005441u
#define FIONREAD_TTY 0x4004667fu

#endif
