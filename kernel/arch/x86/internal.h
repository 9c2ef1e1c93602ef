/* What the files of arch/x86 share. */
#ifndef ARCH_X86_INTERNAL_H
#define ARCH_X86_INTERNAL_H
#include <arch.h>
#include <arch/pte.h>
#include <cpu.h>
#include <task.h>
#include <types.h>

/* entry.S */
typedef const char code[];
extern code exception_vectors_loaded, interrupt_vectors_loaded, syscall_full_loaded, syscall_lean_loaded;
extern code exception_vectors_checked, interrupt_vectors_checked, syscall_full_checked, syscall_lean_checked;
extern code syscall_traced_loaded, syscall_traced_checked;
extern code return_ds_loaded, return_es_loaded, return_ds_checked, return_es_checked;
extern code return_iret_loaded_loading, return_iret_checked_loading, return_iret_checked, task_first_entry;
extern code return_loaded;
void return_with(struct regs *regs) __attribute__((noreturn));
/* gate.S */
extern code message_entry;
/* gate_without.S */
extern code message_entry_apart, message_entry_loading, message_entry_queueing;
/* gate_calls.S, gate_memory.S */
extern code message_entry_calls, message_entry_memory;
/* switch.S */
void switch_stack(u32 *from, u32 to);
void switch_stack_away(struct task *previous, u32 to) __attribute__((noreturn));

/* exceptions.c, called from entry.S */
void exception_page_fault(struct regs *regs);
void exception_interrupt(struct regs *regs);
void exception_syscall(struct regs *regs);
void exception_syscall_traced(struct regs *regs);
void exception_other(struct regs *regs);

/* descriptors.c */
void descriptors_load(void);
void gate_set(u32 vector, const char *entry, bool for_programs);
/* The forms of entry: by policies `entry` and `segments`, and while calls are traced. */
void entry_bind_lean(bool lean);
void entry_bind_checked(bool checked);
void calls_bind(void);                  /* policies of messages have changed (arch/message.h) */
/* Describes a segment of bytes or (pages) pages that programs may use. */
u64 segment_make(u32 base, u32 limit, u32 access, u32 flags);
#define SEGMENT_PRESENT   0x80u
#define SEGMENT_PROGRAMS  0x60u         /* privilege 3 */
#define SEGMENT_MEMORY    0x10u         /* code or data, not a system segment */
#define SEGMENT_CODE      0x08u
#define SEGMENT_DOWN      0x04u         /* data: grows down */
#define SEGMENT_WRITABLE  0x02u         /* data; of code: readable */
#define SEGMENT_ACCESSED  0x01u
#define SEGMENT_TABLE     0x02u         /* a local table */
#define SEGMENT_TSS_FREE  0x09u
#define SEGMENT_PAGES     0x8u          /* flags: the limit counts pages, */
#define SEGMENT_32BIT     0x4u          /* operands and stack have 32 bits, */
#define SEGMENT_SOFTWARE  0x1u          /* for software's use */

/* cpu.c */
extern u32 cpu_features;                /* what CPUID returns in EDX; 0 without that instruction */
#define CPU_PSE 0x0008u
#define CPU_TSC 0x0010u
#define CPU_APIC 0x0200u
#define CPU_PGE 0x2000u
void cpu_identify(void);

/* mp_table.c: the numbers of the processors' local APICs; the processor that boots is the first */
extern struct described_processors {
	u32 count;
	u8 apic[BOARD_CPUS];
} processors;
void processors_find(void);

/* one/, several/: whether this image fits the machine; if it does not, a sentence says so. */
void processors_look(void);
/* The first processor's local APIC and the timers of all; gates of APIC vectors; counts. Empty for one processor. */
void apic_init(void);
void apic_gates_set(bool checked);
void apic_account(void);

/* clock.c */
void clock_init(void);                  /* the counters of the 8254; of cycles, if there is one */
void i8254_timer_set(u32 ticks);

/* task.c */
void task_stack_init(struct task *task);
void fpu_give(struct task *task);
void fp_initialise(struct task *task);   /* its registers, which the FPU does not hold */
/* step.c */
u32 step_flags(const struct task *task, u32 eflags);    /* as the program sees them: without its tracer's TF */
void step_forget(struct task *task);    /* EFLAGS.TF is the program's from now on */
void step_done(struct regs *regs);      /* the trap after a step */
/* tls.c: at a switch */
void tls_switch(struct task *previous, struct task *next);
void tls_clear(struct task *task);
u16 segment_read_fs(void);
u16 segment_read_gs(void);
void segments_write(u32 fs, u32 gs);    /* a selector that does not fit becomes 0 */
#define SEGMENTS_LOCAL 0x80000000u      /* in arch.segments: a name that no task of another address space has */
void segments_rename(struct task *task);
u32 segments_of_child(struct task *parent);

/* ldt.c */
void local_table_load(struct cpu_state *cpu, struct task *task);
bool local_table_refresh(void);         /* loads the table of the current task, if another is loaded: true */

/* mmu.c */
#define CONTROL_REGISTER(cr)                                                                            \
	static inline u32 cr##_read(void)                                                               \
	{                                                                                               \
		u32 value;                                                                              \
		__asm__ volatile("movl %%" #cr ", %0" : "=r"(value));                                   \
		return value;                                                                           \
	}                                                                                               \
	static inline void cr##_write(u32 value) { __asm__ volatile("movl %0, %%" #cr : : "r"(value) : "memory"); }
CONTROL_REGISTER(cr0)
CONTROL_REGISTER(cr2)
CONTROL_REGISTER(cr3)
CONTROL_REGISTER(cr4)
static inline void page_invalidate(vaddr_t address)
{
	__asm__ volatile("invlpg %0" : : "m"(*(const char *)address) : "memory");
}
void tlb_empty(void);                   /* of this processor, entries of all address spaces included */



/* Whether an address lies in the window of aperture.c. */
static inline bool aperture_has(vaddr_t address) { return address >> 22 == WINDOW >> 22; }

/* The task that a program's registers lie on the stack of. */
static inline struct task *task_of_regs(const struct regs *regs)
{
	return *(struct task **)(((vaddr_t)regs & -KERNEL_STACK_SIZE) + STACK_TASK);
}

/* setup.c */
void start_c(u32 magic, u32 info) __attribute__((noreturn));
extern char boot_stack[];

/* Policies switch.time (clock.c) and ipc.window (aperture.c). */
int clock_take_last(bool last);
extern u64 clock_switches, windows_clean;
extern bool window_noted;

#endif
