/*
 * A temporary mapping of another address space (policy ipc.copy): a segment of the active one shows a segment of the
 * other, whose translations serve as they are. While it is open the kernel only copies: a page that is missing ends
 * the copy, and the caller closes the window and sees to it.
 */
#ifndef WINDOW_H
#define WINDOW_H

#include <types.h>

struct mm;

/* A window reaches from an address to the end of what one page table covers. */
extern bool window_open;

/*
 * Shows mm's `address` in a segment that [own, own + one page) does not touch; the address there. No system call, no
 * sleep and no window of interrupts before the end.
 */
u32 window_begin(struct mm *mm, u32 address, u32 own);
void window_end(void);

#endif
