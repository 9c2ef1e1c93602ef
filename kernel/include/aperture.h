/*
 * A temporary mapping of another address space (policy ipc.copy): one segment of the active space shows a segment of
 * the other, with the translations that are cached for the other. While it is open the kernel does nothing but copy. A
 * missing page ends the copy; the caller then closes the aperture and faults the page in.
 */
#ifndef APERTURE_H
#define APERTURE_H
#include <types.h>

struct mm;

/* 0: this processor can have one; or the error of the policy (policy.h). */
int aperture_refused(void);
/*
 * Maps the segment that contains `address` of mm, in place of a segment that [own, own + one page) does not touch. The
 * mapping ends where the page table of `address` ends. Returns where `address` is in the mapping. Until aperture_end()
 * there must be no system call, sleep or interrupt window.
 */
uaddr_t aperture_begin(struct mm *mm, uaddr_t address, uaddr_t own);
void aperture_end(void);

#endif
