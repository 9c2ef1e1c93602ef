/*
 * A temporary mapping of another address space (policy ipc.copy): a segment of the active one shows a segment of the
 * other, whose translations serve as they are. While it is open the kernel only copies: a page that is missing ends
 * the copy, and the caller closes the aperture and brings the page in.
 */
#ifndef APERTURE_H
#define APERTURE_H

#include <types.h>

struct mm;

/* This processor has segments to show. */
bool aperture_possible(void);
/*
 * Shows mm's `address` in a segment that [own, own + one page) does not touch, up to the end of what one page table
 * covers; the address there. No system call, no sleep and no window for interrupts before the end.
 */
uaddr_t aperture_begin(struct mm *mm, uaddr_t address, uaddr_t own);
void aperture_end(void);

#endif
