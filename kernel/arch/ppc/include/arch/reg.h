/*
 * Registers and their bits, for C and assembly. Special purpose register
 * numbers: MPC603e and PowerPC 604 user's manuals, chapter 2.
 */
#ifndef ARCH_REG_H
#define ARCH_REG_H

#define SPR_DSISR  18
#define SPR_DAR    19
#define SPR_DEC    22
#define SPR_SDR1   25
#define SPR_SRR0   26
#define SPR_SRR1   27
#define SPR_SPRG0  272
#define SPR_SPRG1  273
#define SPR_SPRG2  274
#define SPR_SPRG3  275
#define SPR_PVR    287
#define SPR_IBAT0U 528          /* IBATnU = 528 + 2n, IBATnL = 529 + 2n */
#define SPR_DBAT0U 536          /* DBATnU = 536 + 2n, DBATnL = 537 + 2n */
#define SPR_MMCR0  952          /* 604, 750: performance monitor (604 manual, chapter 9; 750GX manual, chapter 11) */
#define SPR_PMC1   953
#define SPR_SIA    955
#define SPR_DMISS  976          /* 603: software table search */
#define SPR_DCMP   977
#define SPR_HASH1  978
#define SPR_HASH2  979
#define SPR_IMISS  980
#define SPR_ICMP   981
#define SPR_RPA    982
#define SPR_HID0   1008
#define SPR_L2CR   1017         /* 750 */

#define MSR_POW  0x00040000
#define MSR_TGPR 0x00020000     /* 603: r0 to r3 are the shadow registers */
#define MSR_EE   0x00008000
#define MSR_PR   0x00004000
#define MSR_PR_BIT 17
#define MSR_FP   0x00002000
#define MSR_ME   0x00001000
#define MSR_FE0  0x00000800
#define MSR_SE   0x00000400
#define MSR_DE   0x00000200      /* 405: debug exceptions */
#define MSR_FE1  0x00000100
#define MSR_IR   0x00000020
#define MSR_DR   0x00000010
#define MSR_RI   0x00000002
#define MSR_USER   (MSR_EE | MSR_PR | MSR_ME | MSR_IR | MSR_DR | MSR_RI)
#define MSR_KERNEL (MSR_ME | MSR_IR | MSR_DR | MSR_RI)  /* interrupts off: the kernel's state */

#define MMCR0_ENABLE      0x04000000    /* a negative counter interrupts; the interrupt's signal clears the bit */
#define MMCR0_PMC1        0x00008000    /* PMC1 may interrupt */
#define MMCR0_PMC1_CYCLES 0x00000040    /* PMC1 counts cycles */
#define PMC_NEGATIVE      0x80000000

#define HID0_DOZE 0x00800000    /* 603, 750: mode entered by MSR[POW] (MPC603e manual, 2.1.2.1); the 604 only naps */
#define HID0_ICE  0x00008000
#define HID0_DCE  0x00004000
#define HID0_ILOCK 0x00002000
#define HID0_DLOCK 0x00001000
#define HID0_ICFI 0x00000800
#define HID0_DCFI 0x00000400
#define HID0_ABE  0x00000008    /* 750: cache operations go on the bus */

/* DSISR after a DSI; the first two also in SRR1 after an ISI. */
#define DSISR_NO_PTE     0x40000000
#define DSISR_NO_PTE_BIT 1
#define DSISR_PROTECTION 0x08000000
#define DSISR_STORE      0x02000000
#define DSISR_STORE_BIT  6
#define DSISR_NEVER      0x04100000     /* impossible on any page: eciwx and ecowx, lwarx and stwcx. past the cache */
#define ISI_GUARDED      0x10000000     /* no-execute segment or guarded memory */

/* SRR1 after a 603's table-search exception (MPC603e manual, table 5-9). */

/* SRR1 after a program exception. */
#define SRR1_FP_EXCEPTION 0x00100000
#define SRR1_PRIVILEGED   0x00040000
#define SRR1_TRAP         0x00020000

#define CCR_SO 0x10000000       /* CR0.SO: a system call failed */

#define KERNEL_BASE_ASM 0xc0000000      /* virtual address of physical 0; KERNEL_BASE in C */

#endif
