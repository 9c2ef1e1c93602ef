/* Settings of terminals. */
#ifndef ABI_TERMIOS_H
#define ABI_TERMIOS_H
#include <abi/termios_generic.h>

struct termios {
	u32 iflag, oflag, cflag, lflag;
	u8 line;
	u8 cc[NCCS];
};

/* It has no speeds beside those in cflag. */
#define TERMIOS_SPEEDS(speed)

_Static_assert(sizeof(struct termios) == 36, "struct termios");

#endif
