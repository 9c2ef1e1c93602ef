/* Where boards have the control device (docs/interfaces.md, section 2): its page for kernels, and the next one for
 * programs. */
#ifndef PAGEWALK_USER_BOARD_H
#define PAGEWALK_USER_BOARD_H

#define BOARD_CONTROL 0x80000000

#endif
