/* The MPC8xx's own registers and their bits, for C and assembly (MPC860 user's manual, chapters 8 and 9). */
#ifndef ARCH_REG8XX_H
#define ARCH_REG8XX_H


/* Translation: MI_ is the instructions' TLB, MD_ the data's. */
#define SPR_MI_CTR  784
#define SPR_MI_AP   786
#define SPR_MI_EPN  787
#define SPR_MI_TWC  789
#define SPR_MI_RPN  790
#define SPR_MD_CTR  792
#define SPR_M_CASID 793
#define SPR_MD_AP   794
#define SPR_MD_EPN  795
#define SPR_M_TWB   796
#define SPR_MD_TWC  797
#define SPR_MD_RPN  798
#define SPR_M_TW    799
#define SPR_MI_CAM  816                 /* CAM, RAM0 and RAM1 show the entry that the control register's index names */
#define SPR_MD_CAM  824

#define TLB_ENTRIES_8XX 32
#define TLB_RESERVED    28              /* first entry that RSV4I protects from replacement and tlbia */

/* Mx_CTR. */
#define CTR_RSV4I       0x08000000
#define CTR_TWAM        0x04000000      /* data: the tables of the walk are for 4 KB pages */
#define CTR_INDEX_SHIFT 8

/* Mx_AP: two bits a group; 01: accesses are checked by the page's own protection. */
#define AP_BY_PAGE      0x55555555

/* Mx_EPN: EA[0-19], and the address space in the last four bits. */
#define EPN_VALID       0x00000200
#define ASIDS           16

/* Mx_TWC: the first level's entry: L2 base, group, and these bits of the page: */
#define TWC_GROUP_KERNEL 0x00000020     /* access protection group 1 */
#define TWC_GUARDED     0x00000010
#define TWC_512K        0x00000004
#define TWC_8M          0x0000000c
#define TWC_VALID       0x00000001

/* Mx_RPN: RPN, PP[20-21] as in a PTE of other processors, and: */
#define RPN_CHANGED     0x00000100      /* without it a store is a TLB error */
#define RPN_SUBPAGES    0x000000f0      /* all four are valid */
#define RPN_LARGE       0x00000008      /* 512 KB and 8 MB */
#define RPN_SHARED      0x00000004      /* matches in every address space */
#define RPN_INHIBITED   0x00000002
#define RPN_VALID       0x00000001

#define BOOT_BLOCKS_8XX 28              /* first entry for RAM at boot, 8 MB each; two map I/O */

/* Caches: IC_CST and DC_CST take commands. */
#define SPR_IC_CST 560
#define SPR_DC_CST 568
#define CST_ENABLE      0x02000000
#define CST_UNLOCK_ALL  0x0a000000
#define CST_INVALIDATE_ALL 0x0c000000

/* After a TLB error, in DSISR and (instructions) SRR1: the entry is not valid. */
#define ERROR_NOT_VALID 0x40000000

#endif
