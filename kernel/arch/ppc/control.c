/* The control device, and the end of a run. */
#include <arch.h>
#include <arch/image.h>
#include <arch/mmu.h>
#include <control.h>
#include <cpu.h>
#include <lib.h>

#include "control_device.h"
#include "internal.h"

static u32 *control_registers;  /* NULL: there is none */
u32 control_features;

static void control_write(u32 offset, u32 value)
{
	if (control_registers) {
		*(volatile u32 *)((u8 *)control_registers + offset) = value;
		__asm__ volatile("eieio" : : : "memory");
	}
}

static u32 control_read(u32 offset)
{
	return *(volatile u32 *)((u8 *)control_registers + offset);
}

void control_init(bool in_tree)
{
	if (!in_tree)
		return;
	control_registers = arch_io(CONTROL_PA);
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

void control_bind(void)
{
	if (!(control_features & CONTROL_FEATURE_PROFILE))
		return;
	activate_set_report(report_switch);
	code_write(message_report, message_report_store, 1);
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

static void tlb_select(enum control_tlb tlb, u32 number)
{
	control_write(CONTROL_TLB_SELECT, (u32)tlb << 31 | number);
}

u32 control_tlb_shape(enum control_tlb tlb, u32 *ways)
{
	u32 shape;

	if (!control_registers)
		return 0;
	tlb_select(tlb, 0);
	shape = control_read(CONTROL_TLB_SELECT);
	*ways = shape & 0xffff;
	return shape >> 16;
}

bool control_tlb_read(enum control_tlb tlb, u32 number, struct control_tlb_entry *out)
{
	u32 vsid;

	tlb_select(tlb, number);
	vsid = control_read(CONTROL_TLB_VSID);
	out->vsid = vsid & 0x7fffffff;
	out->page = control_read(CONTROL_TLB_PAGE);
	out->word = control_read(CONTROL_TLB_WORD);
	return vsid >> 31;
}

void control_frame_freed(u32 frame)
{
	control_write(CONTROL_FRAME_FREED, frame);
}

void control_frame_allocated(u32 frame)
{
	control_write(CONTROL_FRAME_ALLOCATED, frame);
}

void control_vsid_issued(u32 vsid)
{
	control_write(CONTROL_VSID_ISSUED, vsid);
}

void power_off(int status)
{
	irq_disable();
	if (control_registers)
		control_write(CONTROL_POWER_OFF, (u32)status);
	console_printf("pagewalk: power off, status %d\n", status);
	for (;;)
		;
}
