/* The MPC8xx's TLBs, as policies and /proc see them. */
#ifndef ARCH_SOFT8XX_H
#define ARCH_SOFT8XX_H

#include <check.h>
#include <types.h>

/* What Mx_RPN takes of an entry of the tree, but for what its first level says. */
u32 soft8xx_rpn(u32 pte);

/*
 * Pins the kernel: so many entries of 8 MB from its base for instructions and for data, and one of 512 KB for I/O; what was
 * pinned before goes. At most four in a TLB. Each that is loaded counts.
 */
void soft8xx_pin_kernel(u32 text, u32 data, bool io);
extern u64 soft8xx_pinned;

/* /proc/mmu/tlb: what both TLBs hold, a line an entry; any write empties them of what is not pinned. */
void soft8xx_show(struct text *text);
int soft8xx_empty(const char *words, size_t size);
/* The invariant checker: every entry; those of one address. */
void soft8xx_check(check_bad *bad);
void soft8xx_check_page(const struct mm *mm, u32 address, check_bad *bad);

#endif
