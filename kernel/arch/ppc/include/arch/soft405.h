/* The PPC405's TLB, for policies and /proc. */
#ifndef ARCH_SOFT405_H
#define ARCH_SOFT405_H
#include <check.h>
#include <types.h>

/* The second word of the TLB entry for an entry of the tree. */
u32 soft405_low(u32 pte);

/* Entries from this one on are pinned. */
extern u32 soft405_limit;

/* /proc/mmu/tlb: shows the entries, one a line; any write invalidates those that are not pinned. */
void soft405_show(struct text *text);
int soft405_empty(const char *words, size_t size);
/* For the invariant checker: checks every entry, or those of one address. */
void soft405_check(check_bad *bad);
void soft405_check_page(const struct mm *mm, vaddr_t address, check_bad *bad);

/* Pins entries for the kernel, as struct ppc_backend says. */
void soft405_pin_kernel(u32 text, u32 data, bool io);

#endif
