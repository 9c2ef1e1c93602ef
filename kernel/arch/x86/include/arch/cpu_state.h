/* The part of a processor's state (cpu.h) that only arch/x86 uses. */
#ifndef ARCH_CPU_STATE_H
#define ARCH_CPU_STATE_H
#include <arch/pte.h>
#include <arch/segment.h>
#include <types.h>

struct mm;
struct task;

/* The task state segment. The processor reads only the stack for entries from user mode, and the I/O map's base. */
struct tss {
	u32 previous, esp0, ss0, unused[22];
	u16 trap, io_map;
};

struct cpu_state {
	_Alignas(16) struct tss tss;
	_Alignas(16) u64 gdt[SEGMENTS];
	struct task *fpu_owner;         /* the task whose registers the FPU holds, or NULL */
	bool fpu_refuses;               /* CR0.TS is set */
	u8 vector;                      /* of the interrupt that this processor takes (i8259_init() asks for it) */
	struct regs *timer_regs;        /* the registers that the timer's interrupt saved */

	/* apic.c: interrupts between processors that this one is sent and has not taken yet, by kind */
	u32 ipis_sent[4], flushes_sent[3];
	u32 flush_bit;                  /* this processor's in sets of processors */

	/* aperture.c */
	struct mm *aperture_mm;         /* the task's mm, which is NULL while an aperture is open */
	struct root_entry *aperture_entry;      /* the entry of the active root in use */
	bool window_used;               /* since CR3 was loaded last, but for messages at the gate */

	const u64 *segments;            /* the table that LDTR names; NULL: none */

	u32 level_accesses;             /* apic.c: of its local APIC, for policy interrupt.level=apic */
};

#endif
