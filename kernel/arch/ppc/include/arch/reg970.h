/*
 * What a 970 has beside the registers of other processors (reg.h), for C and assembly. PowerPC Operating Environment
 * Architecture (Book III), version 2.01, and IBM's PowerPC 970 user's manual, chapter 2.
 */
#ifndef ARCH_REG970_H
#define ARCH_REG970_H

#define SPR_HIOR   311
#define SPR_HID4   1012
#define SPR_HID5   1014

#define HID4_LARGE_OFF 0x4      /* pages of 16 MB are off */
#define HID4_RM_CI_HIGH 0x100   /* upper word: accesses without translation bypass the caches */
#define HID5_DCBZ32    0xc0     /* dcbz clears 32 bytes; such a dcbz is illegal */

/* An entry of the hash table: two doublewords. The low word of the first: */
#define HPTE64_VALID     0x001
#define HPTE64_SECONDARY 0x002
#define HPTE64_LARGE     0x004
#define HPTE64_BOLTED    0x010  /* software: no insertion replaces it */
#define HPTE64_API       0xf80  /* EA[4-8]; VSID above */
#define HPTE64_SIZE      16
#define HPTE64_NO_FETCH  0x004  /* in the second doubleword, whose low word is otherwise a tree's entry */

/* The segment lookaside buffer: the doubleword with the VSID, and the doubleword with the segment and the slot. */
#define SLB_KEY_USER 0x400      /* Kp */
#define SLB_LARGE    0x100
#define SLB_VALID    0x08000000

/*
 * While pages of 16 MB map RAM, segments 12 and 13 have these VSIDs, beyond the 24 bits of contexts. At boot the hash
 * table is at physical 0, where only the groups from 0x2000 on are used, behind the vectors: the VSIDs choose them.
 */
#define RAM_VSID     0x1000040  /* and 0x1000050 */
#define IO_BOOT_VSID 0x1000840  /* segment 15, until the tree exists */
#define BOOT_GROUPS  0x2000     /* of RAM_VSID in a table at 0 */
#define LARGE_SHIFT  24
#define RAM_LARGE_MOST 32       /* pages of 16 MB in segments 12 and 13 */

/* Words below the vectors' end that handlers reach by absolute address, with translation off: a save area and more. */
#define LOW_SAVE  0x1e00        /* nine doublewords */
#define LOW_MASK  0x1e80        /* of the offset of a group */
#define LOW_TABLE 0x1e84        /* the hash table's physical address */

#endif
