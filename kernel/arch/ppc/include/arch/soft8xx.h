/* The MPC8xx's TLBs, for policies and /proc. */
#ifndef ARCH_SOFT8XX_H
#define ARCH_SOFT8XX_H
#include <check.h>
#include <types.h>

/*
 * Pins the kernel: so many entries of 8 MB from its base for instructions and for data, at most four in a TLB, and one
 * of 512 KB for I/O; replaces those pinned before. Each loaded entry is counted.
 */
void soft8xx_pin_kernel(u32 text, u32 data, bool io);

/* /proc/mmu/tlb: shows the entries of both TLBs, one a line; any write invalidates those that are not pinned. */
void soft8xx_show(struct text *text);
int soft8xx_empty(const char *words, size_t size);
/* For the invariant checker: checks every entry, or those of one address. */
void soft8xx_check(check_bad *bad);
void soft8xx_check_page(const struct mm *mm, vaddr_t address, check_bad *bad);

#endif
