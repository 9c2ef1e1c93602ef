/* Kernel code outside of the kernel lock (outside.h). */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <mm.h>
#include <outside.h>
#include <smp.h>
#include <text.h>

/* How often outside_close() was called and not yet undone: changed by the holder of the kernel lock. */
static volatile u32 outside_closed;
static u32 times_closed, times_refused;
static u64 ticks_waited;        /* ticks of the timebase, for others to leave */

/*
 * Each side stores its word, then reads the other's; both order these by a barrier. So either the processor that enters
 * sees `outside_closed`, or the one that closes sees it outside.
 */
bool outside_enter(void)
{
	volatile u32 *outside = &this_cpu()->outside;

	*outside = 1;
	arch_memory_barrier();
	if (!outside_closed) {
		arch_acquired();
		return true;
	}
	*outside = 0;
	times_refused++;
	return false;
}

void outside_leave(void)
{
	arch_memory_barrier();
	*(volatile u32 *)&this_cpu()->outside = 0;
}

NOINLINE static void close_and_wait(void)
{
	u32 since = arch_timebase_low();

	if (boot.check && (this_cpu()->outside || this_cpu()->lock_held))
		panic("lock order: \"outside\" is closed while \"%s\" is held",
		      this_cpu()->outside ? "outside" : this_cpu()->lock_held->name);
	outside_closed++;
	arch_memory_barrier();
	for_each_cpu(cpu)
		while (cpu != this_cpu() && *(volatile u32 *)&cpu->outside) {
			cpu_stop_if_panic();
			arch_pause();
		}
	arch_acquired();
	times_closed++;
	ticks_waited += arch_timebase_low() - since;
}

void outside_close(void)
{
	if (outside_bound())
		close_and_wait();
}

void outside_open(void)
{
	if (!outside_bound())
		return;
	arch_memory_barrier();
	outside_closed--;
}

void outside_settle(void)
{
	outside_close();
	outside_open();
}

CAUSE(fault) bool fault_tried_outside(const struct regs *regs, uaddr_t address, u32 access)
{
	bool served;

	if (kernel_lock_held())
		return false;
	served = current->mm && mm_fault_outside(current->mm, address, access);
	current->minor_faults += served;
	if (!served)
		kernel_lock();
	if (!regs_user(regs) && kernel_lock_held())
		current->fault_apart = regs;
	return served;
}

u64 faults_outside;

void outside_account(void)
{
	faults_outside = 0;
	for_each_cpu(cpu)
		faults_outside += cpu->faults_outside;
}

void outside_show(struct text *text)
{
	lock_show(text, "outside", times_closed, times_refused, ticks_waited);
}
