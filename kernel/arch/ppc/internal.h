/* What the files of arch/ppc share. */
#ifndef ARCH_PPC_INTERNAL_H
#define ARCH_PPC_INTERNAL_H
#include <arch.h>
#include <task.h>
#include <types.h>

/* I/O space of the kernel, and where the board has it. */
#define IO_VIRTUAL  0xf0000000u
#define IO_PHYSICAL 0x80000000u

/* switch.S */
void fpu_store(u64 *registers);
void fpu_load(const u64 *registers);
extern const char task_first_entry[];

/* gate.S: where it reports a switch to the control device, and the instruction that does so. */
extern u32 *const message_report;
extern const u32 message_report_store[];

/* bat.c: an OpenPIC takes the place of the interrupt acknowledge in I/O space; false if no block can map it. */
bool io_add_openpic(paddr_t pa, u32 size);

/* Saves the BATs of the first processor, which the others load; bat_set.S: pair 0. */
void bats_save(void);
void bats_load(void);
void bat_set_code(u32 upper, u32 lower);

/* cpu.c: empties this processor's instruction cache. */
void icache_invalidate(void);

/* setup.c */
void start_c(const void *fdt);

/* exceptions.c, called from the vectors' images */
void exceptions_init(void);
void exceptions_bind_withheld(void);       /* binds the handler that permits a withheld fetch (fetch_granted()) */
/* Was the fault a fetch that was withheld? If so, it is permitted from now on. */
bool fetch_granted(const struct regs *regs);
void exception_unexpected(struct regs *regs);
void exception_machine_check(struct regs *regs);
void exception_external(struct regs *regs);
void exception_alignment(struct regs *regs);
void exception_program(struct regs *regs);
void program_exception(struct regs *regs, u32 reason);        /* reason: SRR1's bits */
void exception_emulation(struct regs *regs);
void exception_fpu_unavailable(struct regs *regs);
void exception_decrementer(struct regs *regs);
void exception_syscall(struct regs *regs);
void exception_trace(struct regs *regs);
void exception_monitor(struct regs *regs);      /* monitor.c */
/* After an instruction that was emulated, which is a step too. */
void step_emulated(struct regs *regs);
/* Page faults, which no reload can serve: the tree lacks the page or the right. */
void exception_fault(struct regs *regs, uaddr_t address, u32 access);
void exception_data_fault(struct regs *regs);
void exception_data_miss(struct regs *regs, uaddr_t address, u32 dsisr);
void exception_instruction_fault(struct regs *regs);

/* emulate.c: what user programs may do that the processor leaves to software; false: a signal. */
bool emulate_program(struct regs *regs);
/* The same for a load or store of a floating-point register; -EINVAL: it is none. */
int emulate_float(struct regs *regs);
/* 0, or -EFAULT where memory is out of reach, or -EINVAL for what is not emulated. */
int emulate_alignment(struct regs *regs);

/* tlbmiss.c */
struct text;
void tlbmiss_show(struct text *text);
int tlbmiss_store(const char *words, size_t size);

/* task.c: loads the task's floating-point registers, after saving those of their owner. */
void fpu_give(struct task *task);
void fpu_leave(struct task *task);
/* A PPC405's USPRG0, of the current task. */
u32 own_register(void);
void own_register_set(u32 value);
void task_stack_init(struct task *task);

/* setup.c: processors that the device tree names. */
extern u32 processors_described;
/* one/, several/: whether this image fits the board; if it does not, a sentence says so. */
void processors_look(const void *fdt, bool openpic);

#endif
