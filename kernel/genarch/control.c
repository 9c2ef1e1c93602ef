/* The control device, and the end of a run. */
#include <arch.h>
#include <control.h>
#include <cpu.h>
#include <lib.h>
#include <mmu.h>
#include <task.h>

static u32 *control_registers;  /* NULL: there is none */
static u32 control_features;

void control_write(u32 offset, u32 value)
{
	if (control_registers)
		io_write32((u8 *)control_registers + offset, value);
}

u32 control_read(u32 offset)
{
	return io_read32((u8 *)control_registers + offset);
}

void control_start(u32 *registers)
{
	control_registers = registers;
	control_features = control_read(CONTROL_FEATURES);
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

bool control_report_switches(void)
{
	if (!(control_features & CONTROL_FEATURE_PROFILE))
		return false;
	activate_set_report(report_switch);
	return true;
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

void power_off(int status)
{
	irq_disable();
	control_write(CONTROL_POWER_OFF, (u32)status);
	console_printf("pagewalk: power off, status %d\n", status);
	arch_halt(status);
}
