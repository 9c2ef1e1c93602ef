/*
 * The bits of the page-table tree's entries, for C and assembly.
 *
 * A root entry is the physical address of a second-level table, or 0. A page's entry has the format of a hash-table
 * entry's second word (604 manual, figure 5-24), so that no handler has to convert it: the 603's RPA register and the
 * hash table take it unchanged. R is set in every entry that hardware may use, C in every entry that may be written.
 * Software uses the reserved bits.
 */
#ifndef ARCH_PTE_BITS_H
#define ARCH_PTE_BITS_H

#define PTE_RPN     0xfffff000
#define PTE_SLOT    0x00000e00  /* software: slot of the hash-table entry (policy hpte.slot) */
#define PTE_VALID   0x00000100  /* R: hardware may use this entry */
#define PTE_CHANGED 0x00000080  /* C: set wherever PTE_WRITE is */
#define PTE_THROUGH 0x00000040  /* W */
#define PTE_UNCACHED 0x00000020 /* I */
#define PTE_COHERENT 0x00000010 /* M */
#define PTE_FETCH   0x00000010  /* software, where 603, 8xx and 405 have no M: programs may fetch (icache.flush=exec) */
#define PTE_GUARDED 0x00000008  /* G */
#define PTE_HASHED  0x00000004  /* software: a hash-table entry may exist */
#define PTE_NOTE    (PTE_SLOT | PTE_HASHED)
#define PTE_PP      0x00000003
#define PTE_WIMG    0x00000078

/* Page protection with Ks = 0, Kp = 1 in every segment register. */
#define PP_KERNEL   0           /* kernel reads and writes, user nothing */
#define PP_USER_RW  2
#define PP_USER_RO  3           /* read-only for the kernel too: copy-on-write holds for it */

/* The bits of an entry for RPA and the hash table. */
#define PTE_HARDWARE (PTE_RPN | PTE_VALID | PTE_CHANGED | PTE_WIMG | PTE_PP)

#define SR_KEY_USER 0x20000000  /* Kp: PP limits user accesses; with PP = 3 the kernel's too (Ks = 0) */

/* First word of a hash-table entry. */
#define HPTE_VALID     0x80000000
#define HPTE_VSID      0x7fffff80
#define HPTE_SECONDARY 0x00000040
#define HPTE_API       0x0000003f
#define HPTES_PER_GROUP 8

#endif
