/* Starting the other processors, and binding what only several processors need. */
#include <arch.h>
#include <arch/core.h>
#include <arch/entry.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <board.h>
#include <context.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <shootdown.h>
#include <smp.h>
#include <time.h>

#include "../internal.h"

DECLARE_IMAGE(image_reset);
DECLARE_IMAGE(image_start_another);
DECLARE_IMAGE(image_external_unlocked);
DECLARE_IMAGE(image_external_flush);

#define START_WAIT_NS (200 * NSEC_PER_MSEC)

/* entry.S: where code of several processors is branched to. */
extern u32 enter_full_handler[], enter_handler[], return_full[], return_lean[], syscall_whole[];
extern u32 return_syscall_cleared[], return_syscall_lean[];
extern const u32 enter_full_locked[], enter_locked[], return_full_unlocking[], return_lean_unlocking[];
extern const u32 syscall_whole_locked[], return_syscall_cleared_unlocking[], return_syscall_lean_unlocking[];
extern const u32 switch_to_several[];

bool tlb_broadcasts;
static void (*tlb_flush_page)(vaddr_t address) = tlb_invalidate_page;
static void (*tlb_flush_all)(void) = tlb_invalidate_all;
struct task *start_idle;        /* the idle task of the processor that begins, for entry.S */
void start_another_c(void);

/* External interrupts: those between processors need no kernel lock. */
void exception_external_unlocked(struct regs *regs);

void exception_external_unlocked(struct regs *regs)
{
	struct cpu *cpu = this_cpu();
	const struct regs *before = cpu->interrupted;

	cpu->interrupted = regs;
	irq_dispatch();
	this_cpu()->interrupted = before;
}

/* The same after the short handler of flush requests has acknowledged the interrupt, which is another one. */
void exception_external_acknowledged(struct regs *regs);
void exception_external_acknowledged(struct regs *regs)
{
	struct cpu *cpu = this_cpu();
	const struct regs *before = cpu->interrupted;

	cpu->interrupted = regs;
	openpic_handle(cpu->arch.flush.vector);
	this_cpu()->interrupted = before;
}

#define VERSION_750      8
#define L2CR_ENABLE      0x80000000u
#define L2CR_INVALIDATE  0x00200000u
#define L2CR_IN_PROGRESS 0x00000001u

static u32 l2_control;          /* of processor 0, as firmware has left it; 0 if there is none, or if it is off */

static void l2_look(void)
{
	if (cpu_pvr >> 16 == VERSION_750)
		__asm__ volatile("mfspr %0, %1" : "=r"(l2_control) : "i"(SPR_L2CR));
}

static void l2_write(u32 value)
{
	__asm__ volatile("sync; mtspr %0, %1; sync" : : "i"(SPR_L2CR), "r"(value) : "memory");
}

/* The reset has switched this processor's L2 off, and its content is random. */
static void l2_follow(void)
{
	u32 state;

	if (!(l2_control & L2CR_ENABLE))
		return;
	l2_write((l2_control & ~L2CR_ENABLE) | L2CR_INVALIDATE);
	do
		__asm__ volatile("mfspr %0, %1" : "=r"(state) : "i"(SPR_L2CR));
	while (state & L2CR_IN_PROGRESS);
	l2_write(l2_control & ~L2CR_ENABLE);
	l2_write(l2_control);
}

static bool flush_is_short;     /* the interrupt of a flush request goes to the short handler */
static bool several_bound;

static void bind_external(void)
{
	image_install(0x500, !flush_is_short ? &image_external_unlocked :
			     tlb_broadcasts ? backend->several->external_flush : &image_external_flush);
}

void arch_flush_short(bool on)
{
	if (flush_is_short == on)
		return;
	flush_is_short = on;
	if (!several_bound)
		return;
	cpus_hold();
	bat_keep_openpic(on);
	bind_external();
	cpus_release();
}

static void activate_on_several(struct mm *mm)
{
	shootdown_entered();
	backend->mmu.activate(mm);
	if (mm && shootdown_enter(mm))
		arch_tlb_flush_all();
}

static void tlb_flush_all_on_bus(void)
{
	for (uaddr_t page = 0; page < ARCH_TLB_REACH; page += PAGE_SIZE)
		backend->several->tlb_flush_page(page);
}

static void bind_for_several(void)
{
	code_divert(enter_full_handler, enter_full_locked, 0);
	code_divert(enter_handler, enter_locked, 0);
	code_divert(return_full, return_full_unlocking, 0);
	code_divert(return_lean, return_lean_unlocking, 0);
	code_divert(syscall_whole, syscall_whole_locked, 0);
	code_divert(return_syscall_cleared, return_syscall_cleared_unlocking, 0);
	code_divert(return_syscall_lean, return_syscall_lean_unlocking, 0);
	code_divert((u32 *)switch_to, switch_to_several, 0);
	arch_replace((const void *)context_renew, (const void *)context_renew_everywhere);
	/* A core that broadcasts tlbie broadcasts icbi too. */
	if (tlb_broadcasts) {
		tlb_flush_page = backend->several->tlb_flush_page;
		tlb_flush_all = tlb_flush_all_on_bus;
	} else {
		arch_replace((const void *)arch_icache_sync, (const void *)icache_sync_everywhere);
	}
	activate_set_own(activate_on_several);
	backend->several->bind();
	entry_bind_locked();
	openpic_bind_several();
	this_cpu()->arch.flush.bit = 1u << this_cpu()->number;
	several_bound = true;
	bat_keep_openpic(flush_is_short);
	bind_external();
}

/* Starts one; false: it does not begin. */
static bool start_cpu(u32 number)
{
	struct cpu *cpu = smp_add(number);
	u64 until;

	if (!cpu)
		return false;
	arch_idle_init(cpu->idle);
	cpu->arch.flush.bit = 1u << number;
	start_idle = cpu->idle;
	arch_memory_barrier();
	openpic_start_cpu(number);
	until = time_now_ns() + START_WAIT_NS;
	while (!*(volatile bool *)&cpu->online)
		if (time_now_ns() > until)
			return false;
	return true;
}

bool arch_start_others(void)
{
	if (!several_processors)
		return false;
	bind_for_several();
	arch_lead();
	l2_look();
	image_install(0x100, &image_start_another);
	for (u32 number = 1; number < processors_described; number++) {
		if (start_cpu(number)) {
			cpu_count++;
			continue;
		}
		openpic_stop_cpu(number);
		console_printf("pagewalk: processor %u does not start\n", number);
	}
	image_install(0x100, &image_reset);
	printk("pagewalk: %u processors\n", cpu_count);
	return true;
}

void start_another_c(void)
{
	l2_follow();
	backend->several->begin();
	/* Segments and tree first: bats_load() may take away the BATs that map the kernel. */
	backend->kernel_context();
	mmu->activate(NULL);
	bats_load();
	openpic_init_cpu();
	smp_main();
}

void arch_leave_locks(void)
{
	if (several_bound)
		backend->several->leave_lock();
}

void arch_lead(void)
{
	bats_save();
}

void arch_tlb_flush_page(uaddr_t address)
{
	tlb_flush_page(address);
}

void arch_tlb_flush_all(void)
{
	tlb_flush_all();
}

bool arch_tlb_broadcasts(void)
{
	return tlb_broadcasts;
}

void arch_load_context(void)
{
	if (this_cpu()->mm)
		backend->load_context(this_cpu()->mm);
}

void arch_forget_translations(void)
{
	if (this_cpu()->mm)
		backend->load_context(this_cpu()->mm);
	else
		mmu->activate(NULL);
	tlb_invalidate_all();
}

void arch_follow(void)
{
	backend->kernel_context();
	bats_load();
	arch_forget_translations();
	icache_invalidate();
}
