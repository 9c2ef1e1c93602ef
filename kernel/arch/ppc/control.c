/* PowerPC's part of the control device: where it is, messages without the kernel, and the TLB's entries. */
#include <arch.h>
#include <arch/image.h>
#include <control.h>

#include "control_device.h"
#include "internal.h"

void control_init(bool in_tree)
{
	if (in_tree)
		control_start(arch_io(CONTROL_PA));
}

void control_bind(void)
{
	if (control_report_switches())
		code_write(message_report, message_report_store, 1);
}

static void tlb_select(enum control_tlb tlb, u32 number)
{
	control_write(CONTROL_TLB_SELECT, (u32)tlb << 31 | number);
}

u32 control_tlb_shape(enum control_tlb tlb, u32 *ways)
{
	u32 shape;

	if (!control_present())
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

void arch_halt(int status)
{
	(void)status;
	for (;;)
		;
}
