/* The PPC405's own registers and their bits, for C and assembly (PPC405 core manual, chapters 5 to 9). */
#ifndef ARCH_REG405_H
#define ARCH_REG405_H

#define SPR_USPRG0 256                  /* for programs */
#define SPR_SPRG4 276
#define SPR_SPRG5 277
#define SPR_SPRG6 278
#define SPR_SPRG7 279
#define SPR_ZPR   944
#define SPR_PID   945
#define SPR_ESR   980
#define SPR_DEAR  981
#define SPR_EVPR  982
#define SPR_TSR   984
#define SPR_TCR   986
#define SPR_PIT   987
#define SPR_SRR2  990                   /* of critical exceptions, as SRR0 and SRR1 */
#define SPR_SRR3  991
#define SPR_DBSR  1008
#define SPR_DBCR0 1010
#define SPR_DCCR  1018
#define SPR_ICCR  1019

/* The first word of a TLB entry: EPN, and: */
#define TLBHI_SIZE_SHIFT 7
#define TLBHI_SIZE  0x00000380          /* 1 KB, and four times as much for each further value */
#define TLBHI_4K    0x00000080
#define TLBHI_16M   0x00000380
#define TLBHI_VALID 0x00000040

/* The second word: RPN, and: */
#define TLBLO_RPN       0xfffffc00
#define TLBLO_EXECUTE   0x00000200
#define TLBLO_WRITE     0x00000100
#define TLBLO_ZONE_USER 0x00000010      /* zone 1; the kernel's pages are in zone 0 */
#define TLBLO_INHIBITED 0x00000004
#define TLBLO_GUARDED   0x00000001

/* Zone 0: nothing for programs. Zone 1: what EX and WR permit, for the kernel too. */
#define ZONES 0x10000000

#define TLB_ENTRIES_405 64
#define BOOT_BLOCKS_405 32              /* entries for RAM at boot, 16 MB each; two more map I/O */
#define PIDS_405        256

/* A debug exception after each instruction that is completed with MSR[DE] set. */
#define DBCR0_INTERNAL 0x40000000
#define DBCR0_COMPLETE 0x08000000
#define DBSR_COMPLETE  0x80000000

/*
 * Physical addresses, behind the last vector, where vectors save registers. SPRG4 to SPRG7 do not serve: programs can
 * read these, and would see registers of other programs.
 */
#define KEPT_R9         0x2fe0
#define KEPT_R12        0x2fe4
#define KEPT_CR         0x2fe8
#define KEPT_BY_DEBUG   0x2fec          /* r10 and CR */
#define KEPT_BY_CHECK   0x2ff4          /* r10 */

/* Cause of an exception. */
#define ESR_ILLEGAL    0x08000000

#define TCR_PIT_INTERRUPT 0x04000000
#define TSR_PIT           0x08000000

/* Real-mode accesses to the first 2 GB go through the caches: a bit for each 128 MB. */
#define CACHED_405 0xffff0000

#endif
