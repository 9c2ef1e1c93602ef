/* Kernel code outside of the kernel lock (outside.h). */
#include <outside.h>

#include <arch.h>
#include <check.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <panic.h>
#include <smp.h>
#include <text.h>

#include "internal.h"

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

REPLACED void outside_close(void)
{
}

REPLACED void outside_open(void)
{
}

REPLACED void outside_settle(void)
{
}

static void close_and_wait(void)
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

static void open_again(void)
{
	arch_memory_barrier();
	outside_closed--;
}

static void close_and_open(void)
{
	close_and_wait();
	open_again();
}

/* A fault of a program is served without the kernel lock if it can be; its handler takes the lock otherwise. */
static void enter_for_fault_outside(struct regs *regs)
{
	if (regs_user(regs) ? !regs_fault(regs) : this_cpu()->dozing)
		kernel_lock();
}

CAUSE(fault) bool fault_served_outside(const struct regs *regs, uaddr_t address, u32 access)
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

/* A fault of a copy without the kernel lock took it: the copy goes on without it. */
static void leave_outside(struct regs *regs)
{
	if (!regs_user(regs) && current->fault_apart == regs) {
		current->fault_apart = NULL;
		kernel_unlock();
		return;
	}
	kernel_leave_big(regs);
}

void outside_bind(void)
{
	arch_replace((const void *)outside_close, (const void *)close_and_wait);
	arch_replace((const void *)outside_open, (const void *)open_again);
	arch_replace((const void *)outside_settle, (const void *)close_and_open);
	arch_replace((const void *)kernel_enter, (const void *)enter_for_fault_outside);
	arch_replace((const void *)kernel_leave, (const void *)leave_outside);
	arch_bind_outside();
	frames_bind_outside();
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
