/*
 * The interface of the architecture, together with the headers <arch/...> that are included here or by mm.h,
 * pagetable.h and cpu.h. arch/stub has the minimum of each.
 */
#ifndef ARCH_H
#define ARCH_H
#include <arch/cpu.h>
#include <arch/layout.h>
#include <arch/regs.h>
#include <arch/task.h>
#include <frame.h>
#include <types.h>

struct text;

/*
 * Prepares a new task whose `kernel_stack` (KERNEL_STACK_SIZE bytes from kmalloc) is set. Its first run calls
 * function(argument) on that stack. When the function returns, the task enters user mode with the registers of
 * task_regs(task); return_to_user() runs first if task->work asks for it.
 */
void arch_task_start(struct task *task, void (*function)(void *), void *argument);
/* The registers of user mode, at the top of the task's kernel stack. */
struct regs *task_regs(struct task *task);
/*
 * fork and clone: copies the parent's (current's) user registers and FPU to the child, with 0 as the call's result.
 * The caller then sets stack and thread pointer as clone's arguments say, and calls arch_task_start().
 */
void arch_task_fork(struct task *child, const struct regs *parent);
/* For exec: sets regs for the program's first instruction and clears current's FPU registers. */
void arch_task_exec(struct regs *regs, uaddr_t entry, uaddr_t stack_pointer);
/* Called before a task's memory is freed. */
void arch_task_free(struct task *task);

/* Prefetches the cache lines that a switch to this task reads first. Does nothing unless policy preload is on. */
void switch_preload(struct task *next);

/*
 * Saves previous and continues next; returns when another switch continues previous. Interrupts are off, and the caller
 * has called mmu->activate().
 */
void switch_to(struct task *previous, struct task *next);
/* The same when previous has ended: calls task_release_stack(previous) as soon as next's stack is in use. */
void switch_away(struct task *previous, struct task *next) __attribute__((noreturn));

/* Saves the task's FPU registers, if the FPU holds them, to task->arch; they are reloaded at the next use. */
void arch_fpu_save(struct task *task);
/* Discards the task's registers in the FPU: at exec and exit, and after task->arch was written. */
void arch_fpu_drop(struct task *task);

/*
 * From now on, calls of a function (REPLACED) go to another function of the same type. Backends bind functions so, and
 * the few policies for which a test or a table would cost more.
 */
void arch_replace(const void *function, const void *by);
/* policy/replace.c, called by arch_replace(): panics if the function has another replacement. */
void replacement_note(const void *function, const void *by);

/*
 * Several processors. Starts the others, one after the other; each calls smp_main(). Those that have not started after
 * some time are reported.
 */
void arch_start_others(void);
/*
 * arch_lead() saves the registers by which this processor maps memory. arch_follow() loads them on another one, and
 * empties its TLB and instruction cache.
 */
void arch_lead(void);
void arch_follow(void);
/* A panic: lets locks go without which other processors could not print. */
void arch_leave_locks(void);
/* Several processors: this one's TLB. */
void arch_tlb_flush_page(uaddr_t address);
/* A flush of each page in [0, ARCH_TLB_REACH) empties every set of a TLB. */
#define ARCH_TLB_REACH (ARCH_TLB_SETS * PAGE_SIZE)
void arch_tlb_flush_all(void);
/* Fetches from a program's page need its permission (pte_make_fetchable), or not. -ENODEV: no such permission. */
int arch_fetch_withhold(bool on);
bool arch_tlb_broadcasts(void);         /* a flush of a page reaches all processors' TLBs */
/* A handler in assembly, without a frame, answers the interrupts of IPI_FLUSH by flush_words (shootdown.h). */
void arch_flush_short(bool on);
/* Loads the context of this processor's address space, if it has one. */
void arch_load_context(void);
/* Empties this processor's TLB; loads its address space's context again. */
void arch_forget_translations(void);

/* While on, each system call checks whether its caller is traced (trace_stop_at_call). */
void arch_trace_syscalls(bool on);

/* Called with interrupts off. Enables them and waits until an interrupt has come or a short time has passed. */
void arch_idle(void);

u64 arch_timebase(void);                /* ticks of the timebase */
u32 arch_timebase_hz(void);
void arch_timer_set(u32 ticks);         /* interrupt when ticks have passed; at most 0x7fffffff */

/* The last instructions of a run without a control device; status: for an emulator that takes one. */
__attribute__((noreturn)) void arch_halt(int status);

/* The virtual address of a physical address in the board's I/O space; NULL: outside of it. */
void *arch_io(paddr_t pa);
/* Calls function for every page of I/O space, with its virtual address (as from arch_io) and its physical address. */
void io_for_each_page(void (*function)(vaddr_t virtual, paddr_t pa));

/*
 * Calls stat_sample() (stat_tick.h) for the code that runs at every `cycles` cycles, whether interrupts are on or not;
 * 0: no longer. -EOPNOTSUPP: this processor cannot, or there are several.
 */
int arch_sample(u32 cycles);

/* The processor: facts for the auxiliary vector, /proc and the boot's first line. */
struct arch_cpu {
	const char *name;               /* for messages and /proc/cpuinfo */
	u32 hwcap;                      /* AT_HWCAP, as the ABI has it */
	u32 clock_hz, timebase_hz, bus_hz;
	u32 dcache_line, icache_line;   /* bytes */
	u32 dcache_size, icache_size;
};
extern struct arch_cpu arch_cpu;
/* Writes AT_PLATFORM's string: by this name the dynamic linker finds libraries made for the processor. */
void arch_platform(char *name, size_t size);
/* The processor's lines of /proc/cpuinfo. */
void arch_show_cpu(struct text *text);

/* Whether all RAM is also mapped at KERNEL_UNCACHED, past the cache. */
bool arch_maps_uncached(void);

/* Makes code that was written to [address, address + size), through the kernel's mapping, visible to fetch. */
void arch_icache_sync(void *address, size_t size);
/* Writes back and invalidates the data cache's lines of [address, address + size). */
void arch_dcache_flush(void *address, size_t size);

/* Prints the registers and the return addresses on the stack, those of an exception or (NULL) of the caller. */
void arch_show_regs(const struct regs *regs);
void arch_show_stack(const struct regs *regs);

/*
 * Registers the files of /proc about the MMU; brings the counters of the architecture's policies up to date before
 * they are shown.
 */
void arch_proc_init(void);
void arch_policies_account(void);

/*
 * The architecture's part of the boot. main.c calls these functions in this order. They set up: the exception vectors,
 * a console for messages, and the choice of processor and MMU; the kernel's mappings that need no page tables; plain
 * translation by the tree; device interrupts; the console's interrupt.
 */
void arch_init_early(const void *given);
void arch_map_memory(void);
void arch_init_translation(void);
void arch_init_interrupts(void);
void arch_init_console(void);
/*
 * main.c: the boot, called by the architecture's start code on the idle task's stack. `given` is what the boot loader
 * left (arch/boot.h). Does not return.
 */
void kernel_main(const void *given) __attribute__((noreturn));

/* What the boot loader and the command line set. */
struct boot {
	u32 memory_size;                /* bytes of RAM from physical 0 */
	paddr_t initrd_start, initrd_end;   /* physical; equal: none */
	const char *command_line;
	const char *init;               /* init=, default "/init" */
	const char *const *init_arguments;      /* the words after --; the last entry is NULL */
	bool quiet, check, check_sleeps;
	u32 failalloc;                  /* the allocation that fails; 0: none */
};
extern struct boot boot;

#endif
