/* Settings of terminals. */
#ifndef ABI_TERMIOS_H
#define ABI_TERMIOS_H
#include <abi/termios_generic.h>

struct termios {
	u32 iflag, oflag, cflag, lflag;
	u8 line;
	u8 cc[NCCS];
	u32 ispeed, ospeed;     /* struct termios2 */
};

/* Initialises the speeds. */
#define TERMIOS_SPEEDS(speed) .ispeed = (speed), .ospeed = (speed),

#endif
