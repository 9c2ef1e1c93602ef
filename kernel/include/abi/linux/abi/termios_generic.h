/* Settings of terminals, and requests, but for struct termios: numbers of uapi asm-generic/termbits.h and ioctls.h. */
#ifndef ABI_TERMIOS_GENERIC_H
#define ABI_TERMIOS_GENERIC_H
#include <abi/termios_base.h>

#define NCCS 19
enum {
	VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC, VSTART, VSTOP, VSUSP, VEOL, VREPRINT, VDISCARD, VWERASE,
	VLNEXT, VEOL2,
};

struct termio {         /* the old form */
	u16 iflag, oflag, cflag, lflag;
	u8 line;
	u8 cc[8];
	u8 pad;
};
#define TERMIO_ORDER VINTR, VQUIT, VERASE, VKILL, VEOF, VTIME, VMIN, VSWTC

_Static_assert(sizeof(struct termio) == 18, "struct termio");

#define ISTRIP 0x00000020u
#define INLCR 0x00000040u
#define IGNCR 0x00000080u
#define ICRNL 0x00000100u
#define IXON 0x00000400u
#define IXANY 0x00000800u
#define IUTF8 0x00004000u
#define OPOST 0x00000001u
#define ONLCR 0x00000004u
#define OCRNL 0x00000008u
#define ONOCR 0x00000010u
#define ONLRET 0x00000020u
#define TABDLY 0x00001800u
#define XTABS 0x00001800u
#define B38400 0x0000000fu
#define CS8 0x00000030u
#define CREAD 0x00000080u
#define HUPCL 0x00000400u
#define ECHOKE 0x00000800u
#define ECHOE 0x00000010u
#define ECHOK 0x00000020u
#define ECHO 0x00000008u
#define ECHONL 0x00000040u
#define ECHOCTL 0x00000200u
#define ISIG 0x00000001u
#define ICANON 0x00000002u
#define IEXTEN 0x00008000u
#define TOSTOP 0x00000100u
#define NOFLSH 0x00000080u

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

#endif
