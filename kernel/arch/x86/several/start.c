/* Several processors: starting the others, and what this one does for them. */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <smp.h>
#include <time.h>

#include "../internal.h"
#include "several.h"

#define START_PAGE    0x8000u                   /* below 1 MB, where the kernel uses nothing after it has started */
#define INIT_WAIT_NS  (10 * NSEC_PER_MSEC)      /* Intel manual, volume 3A, table 8-1 */
#define AGAIN_WAIT_NS (200 * NSEC_PER_USEC)
#define START_WAIT_NS (2 * NSEC_PER_SEC)        /* an emulator runs each processor when its computer has time */

/* What a processor loads when it starts (start_other.S). The first processor loads this CR4 too, once others follow. */
u32 start_cr0, start_cr3, start_cr4, start_stack;

void exception_syscall_locked(struct regs *regs)
{
	kernel_lock();
	exception_syscall(regs);
}

void exception_syscall_traced_locked(struct regs *regs)
{
	kernel_lock();
	exception_syscall_traced(regs);
}

void exception_other_locked(struct regs *regs)
{
	kernel_enter(regs);
	exception_other(regs);
}

/* Interrupts between processors need no kernel lock; handlers of devices take it themselves (apic.c). */
void exception_interrupt_locked(struct regs *regs)
{
	struct cpu *cpu = this_cpu();
	const struct regs *before = cpu->interrupted;

	cpu->interrupted = regs;
	exception_interrupt(regs);
	this_cpu()->interrupted = before;
}

void exception_page_fault_locked(struct regs *regs)
{
	kernel_enter(regs);
	exception_page_fault(regs);
}

/* Each processor needs a timebase and a timer, so both must be there. */
void processors_look(void)
{
	if (processors.count == 1)
		fatal(EXIT_PANIC, "this is the image for several processors, and the machine has one: boot vmlinux");
	if (!(cpu_features & CPU_APIC) || !(cpu_features & CPU_TSC))
		fatal(EXIT_PANIC, "this is the image for several processors, and these have no local APIC or no counter "
				  "of cycles: boot vmlinux, which uses one of %u", processors.count);
	apic_find();
	this_cpu()->number = processors.apic[0];
	this_cpu()->arch.flush_bit = 1u << processors.apic[0];
}

static void wait_ns(u64 ns)
{
	u64 until = time_now_ns() + ns;

	while (time_now_ns() < until)
		arch_pause();
}

/* State of the processor that starts: it arrives, or the processor that waits for it gives it up. */
enum { BEGINS, ARRIVED, GIVEN_UP };
static u32 start_state;

static bool arrives_within(u64 ns)
{
	u64 until = time_now_ns() + ns;

	while (*(volatile u32 *)&start_state == BEGINS) {
		if (time_now_ns() > until)
			return false;
		arch_pause();
	}
	return true;
}

/* Starts one; false: it does not begin. */
static bool start_cpu(u32 number)
{
	struct cpu *cpu = smp_add(number);

	if (!cpu)
		return false;
	task_stack_init(cpu->idle);
	cpu->arch.flush_bit = 1u << number;
	start_stack = (u32)task_regs(cpu->idle);
	start_state = BEGINS;
	arch_memory_barrier();
	apic_start_cpu(number, START_PAGE);
	if (!arrives_within(AGAIN_WAIT_NS)) {
		apic_start_cpu(number, START_PAGE);
		if (!arrives_within(START_WAIT_NS) && arch_exchange_if(&start_state, BEGINS, GIVEN_UP)) {
			apic_stop_cpu(number);
			return false;
		}
	}
	while (!*(volatile bool *)&cpu->online)
		arch_pause();
	return true;
}

void arch_start_others(void)
{
	struct root_entry *low = pagetable_slot(kernel_root, START_PAGE);

	apic_bind_several();
	mmu->activate(this_cpu()->mm);
	start_cr0 = cr0_read() & ~(u32)CR0_TS;
	start_cr3 = kva_pa(kernel_root);
	arch_lead();
	*low = *pagetable_slot(kernel_root, KERNEL_BASE);
	memcpy(pa_kva(START_PAGE), start_other_page, (u32)(start_other_page_end - start_other_page));
	apic_init_others();
	wait_ns(INIT_WAIT_NS);
	for (u32 n = 1; n < processors.count; n++) {
		if (start_cpu(processors.apic[n]))
			cpu_count++;
		else
			console_printf("pagewalk: processor %u does not start\n", processors.apic[n]);
	}
	/* Each started processor empties its TLB when it first gets the kernel lock. */
	slot_clear(low);
	tlb_empty();
	printk("pagewalk: %u processors\n", cpu_count);
}

void start_another_c(void)
{
	if (!arch_exchange_if(&start_state, BEGINS, ARRIVED))
		for (;;)
			__asm__ volatile("cli; hlt");
	descriptors_load();
	this_cpu()->arch.fpu_refuses = false;
	arch_fpu_drop(this_cpu()->idle);
	mmu->activate(NULL);
	apic_init_cpu();
	smp_main();
}

void arch_lead(void)
{
	start_cr4 = cr4_read();
}

void arch_follow(void)
{
	cr4_write(start_cr4);
	tlb_empty();
}

void arch_leave_locks(void)
{
}

/* Several processors. */
CAUSE(flush) void arch_tlb_flush_page(uaddr_t address)
{
	page_invalidate(address);
}

/* Programs' pages are never global. */
CAUSE(flush) void arch_tlb_flush_all(void)
{
	cr3_write(cr3_read());
}

bool arch_tlb_broadcasts(void)
{
	return false;
}

void arch_load_context(void)
{
	if (this_cpu()->mm)
		cr3_write(kva_pa(this_cpu()->mm->root));
}

CAUSE(flush) void arch_forget_translations(void)
{
	tlb_empty();
}

/* No lock belongs to this architecture alone. */
bool arch_lock_fault(const char *name)
{
	(void)name;
	return false;
}
