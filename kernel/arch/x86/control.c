/* The control device, and the end of a run. */
#include <arch.h>
#include <control.h>
#include <cpu.h>
#include <lib.h>

#include "internal.h"

#define CONTROL_PA 0x80000f00u

/* The kernel half (docs/interfaces.md, section 2). */
#define CONTROL_MAGIC           0x00
#define CONTROL_FEATURES        0x04
#define CONTROL_POWER_OFF       0x08
#define CONTROL_CAUSE           0x0c
#define CONTROL_FRAME_FREED     0x10
#define CONTROL_FRAME_ALLOCATED 0x14
#define CONTROL_CONTEXT         0x1c
#define CONTROL_COMMAND         0x20
#define CONTROL_DUMP            0x24
#define CONTROL_FORK            0x28
#define CONTROL_CLOCK           0x40    /* of the core, in Hz */
#define MAGIC 0x50574c4bu

/* QEMU's device isa-debug-exit: a write ends QEMU, with twice the value and 1 as its status. */
#define DEBUG_EXIT_PORT 0xf4u

static u32 *control_registers;  /* NULL: there is none */
u32 control_features;

static void control_write(u32 offset, u32 value)
{
	if (control_registers)
		*(volatile u32 *)((u8 *)control_registers + offset) = value;
}

static u32 control_read(u32 offset)
{
	return *(volatile u32 *)((u8 *)control_registers + offset);
}

/* On other PCs the address has nothing, and reads as ones or zeros. */
void control_init(bool in_tree)
{
	(void)in_tree;
	control_registers = arch_io(CONTROL_PA);
	if (control_read(CONTROL_MAGIC) != MAGIC) {
		control_registers = NULL;
		return;
	}
	control_features = control_read(CONTROL_FEATURES) & ~CONTROL_FEATURE_CONTEXT;
	arch_cpu.clock_hz = control_read(CONTROL_CLOCK);
	if (arch_cpu.clock_hz == ~0u)
		arch_cpu.clock_hz = 0;
}

bool control_present(void)
{
	return control_registers != NULL;
}

void control_cause(enum control_cause cause)
{
	control_write(CONTROL_CAUSE, cause);
}

void control_context(u32 pid)
{
	if (control_features & CONTROL_FEATURE_PROFILE)
		control_write(CONTROL_CONTEXT, pid);
}

static void report_switch(struct mm *mm)
{
	if (this_cpu()->running->mm == mm)
		control_write(CONTROL_CONTEXT, (u32)this_cpu()->running->tgid);
}

void control_bind(void)
{
	if (control_features & CONTROL_FEATURE_PROFILE)
		activate_set_report(report_switch);
}

void control_command(const char *path)
{
	if (control_features & CONTROL_FEATURE_PROFILE)
		control_write(CONTROL_COMMAND, kva_pa(path));
}

void control_fork(u32 pid)
{
	if (control_features & CONTROL_FEATURE_FORK)
		control_write(CONTROL_FORK, pid);
}

void control_dump(u32 label)
{
	control_write(CONTROL_DUMP, label);
}

void control_frame_freed(u32 frame)
{
	control_write(CONTROL_FRAME_FREED, frame);
}

void control_frame_allocated(u32 frame)
{
	control_write(CONTROL_FRAME_ALLOCATED, frame);
}

void power_off(int status)
{
	irq_disable();
	if (control_registers)
		control_write(CONTROL_POWER_OFF, (u32)status);
	console_printf("pagewalk: power off, status %d\n", status);
	__asm__ volatile("outl %0, %w1" : : "a"(status), "d"(DEBUG_EXIT_PORT));
	for (;;)
		__asm__ volatile("hlt");
}
