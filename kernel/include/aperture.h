/*
 * A temporary mapping of another address space (policy ipc.copy): one segment of the active space shows a segment of
 * the other, with the translations that are cached for the other. While it is open the kernel does nothing but copy. A
 * missing page ends the copy; the caller then closes the aperture and faults the page in.
 */
#ifndef APERTURE_H
#define APERTURE_H

#include <types.h>

struct mm;

/* Whether this processor has segment registers. */
bool aperture_possible(void);
/*
 * Maps the segment of mm's `address` at one that [own, own + one page) does not touch. The mapping reaches to the end
 * of what one page table covers. Returns the address there. Until aperture_end() there must be no system call, sleep
 * or interrupt window.
 */
uaddr_t aperture_begin(struct mm *mm, uaddr_t address, uaddr_t own);
void aperture_end(void);

#endif
