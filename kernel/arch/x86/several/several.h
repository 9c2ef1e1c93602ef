/* What the files of arch/x86/several share. */
#ifndef ARCH_X86_SEVERAL_H
#define ARCH_X86_SEVERAL_H
#include "../internal.h"

/* entry.S */
extern code apic_vectors_loaded, apic_vectors_checked, flush_all, flush_page, flush_range;
/* start_other.S */
extern code start_other_page, start_other_page_end;

/* start.c, called from entry.S: the handlers, with the kernel lock */
void exception_page_fault_locked(struct regs *regs);
void exception_interrupt_locked(struct regs *regs);
void exception_syscall_locked(struct regs *regs);
void exception_syscall_traced_locked(struct regs *regs);
void exception_other_locked(struct regs *regs);
void start_another_c(void);
extern u32 start_cr0, start_cr3, start_cr4, start_stack;

/* apic.c */
void apic_find(void);
void apic_init_cpu(void);
void apic_init_others(void);    /* they wait for a start-up message */
void apic_stop_cpu(u32 number);
void apic_start_cpu(u32 number, paddr_t page);
void apic_bind_several(void);

/* Policy interrupt.level (apic.c). */
void level_bind(u32 choice);
extern u64 level_accesses;

#endif
