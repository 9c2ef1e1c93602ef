/* What each processor has of its own (cpu.h), as far as only arch/ppc uses it. */
#ifndef ARCH_CPU_STATE_H
#define ARCH_CPU_STATE_H

#include <arch/pte.h>
#include <types.h>

struct mm;
struct task;

/* A translation that a 603's vectors load, with translation off, when the miss that C handled last comes again. */
struct soft_prepared {
	u32 address;
	u32 compare;                    /* the miss's compare register, which holds the VSID; 0: nothing */
	u32 pte;
	u32 unused;
};
#define SOFT_PREPARED 5u                /* one for instructions, two for loads, two for stores */

struct cpu_state {
	/* Aligned so that one address register reaches all of them (soft6xx/reload.S). */
	_Alignas(128) struct soft_prepared soft_prepared[SOFT_PREPARED];

	struct task *fpu_owner;         /* whose registers the FPU holds; NULL: nobody's */

	/* aperture.c */
	struct mm *aperture_mm;         /* the current task's, which has none while an aperture is open */
	struct root_entry *aperture_entry;      /* the entry of the active root that gave way, */
	struct root_entry aperture_entry_before; /* what it was, */
	u32 aperture_segment;           /* and the same of the segment */
	u32 aperture_register_before;
};

#endif
