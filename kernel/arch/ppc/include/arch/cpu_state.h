/* The part of a processor's state (cpu.h) that only arch/ppc uses. */
#ifndef ARCH_CPU_STATE_H
#define ARCH_CPU_STATE_H
#include <arch/pte.h>
#include <types.h>

struct mm;
struct task;

/* A translation that a 603's vectors load with translation off, if the last miss that C handled is repeated. */
struct soft_prepared {
	vaddr_t address;
	u32 compare;                    /* the miss's compare register, with the VSID; 0: none */
	u32 pte;
	u32 unused;
};
#define SOFT_PREPARED 5u                /* one for instructions, two for loads, two for stores */

struct cpu_state {
	/* Aligned so that one address register reaches all of them (soft6xx/reload.S). */
	_Alignas(128) struct soft_prepared soft_prepared[SOFT_PREPARED];

	/* several/external_flush.h: the handler of flush requests, in one cache line. */
	_Alignas(32) struct {
		u32 saved[4];           /* CR, r9, r12, r8 of the code that it interrupts */
		u32 wait;               /* r9, while it waits for the hash table's lock */
		u32 bit;                /* of this processor in flush_words.unanswered */
		u32 vector;             /* of an interrupt that it hands on */
	} flush;

	struct task *fpu_owner;         /* the task whose registers the FPU holds, or NULL */

	/* aperture.c */
	struct mm *aperture_mm;         /* the task's mm, which is NULL while an aperture is open */
	struct root_entry *aperture_entry;      /* the entry of the active root in use, */
	struct root_entry aperture_entry_before; /* its old value, */
	u32 aperture_segment;           /* and the same for the segment */
	u32 aperture_register_before;
};

#endif
