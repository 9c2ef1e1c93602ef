/* Starting the other processors. */
#include <arch.h>
#include <arch/core.h>
#include <arch/entry.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/several.h>
#include <board.h>
#include <cpu.h>
#include <fdt.h>
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

static const struct ppc_several *const shared_mmu = &hash32_several;
static bool tlb_broadcasts;            /* tlbie reaches the other processors, and so does icbi */
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
	image_install(0x500, !flush_is_short || !several_bound ? &image_external_unlocked :
			     tlb_broadcasts ? shared_mmu->external_flush : &image_external_flush);
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
		shared_mmu->tlb_flush_page(page);
}

/* External interrupts of devices need no vector that prefetches. */
void external_bind(bool preload)
{
	(void)preload;
	bind_external();
}

void processors_look(const void *fdt, bool openpic)
{
	u32 broadcasts = 0;

	if (processors_described == 1)
		fatal(EXIT_PANIC, "this is the image for several processors, and the machine has one: boot vmlinux");
	if (!openpic || backend != &hash32_backend)
		fatal(EXIT_PANIC, "this is the image for several processors, and %s: boot vmlinux, which uses one of %u",
		      openpic ? "this kind does not work with others" : "the board has no OpenPIC",
		      processors_described);
	fdt_u32(fdt, "/cpus/cpu", "tlb-broadcast", &broadcasts);
	tlb_broadcasts = broadcasts;
}

static void bind_for_several(void)
{
	if (tlb_broadcasts) {
		tlb_flush_page = shared_mmu->tlb_flush_page;
		tlb_flush_all = tlb_flush_all_on_bus;
	}
	activate_set_own(activate_on_several);
	shared_mmu->bind();
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
	task_stack_init(cpu->idle);
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

void arch_start_others(void)
{
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
}

void start_another_c(void)
{
	l2_follow();
	shared_mmu->begin();
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
		shared_mmu->leave_lock();
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
