/* Registers and return addresses, as a panic shows them. */
#include <arch.h>
#include <lib.h>
#include <task.h>

#include "internal.h"

void arch_show_regs(const struct regs *regs)
{
	struct regs here = { 0 };

	if (!regs) {
		here.eip = (vaddr_t)__builtin_return_address(0);
		here.cs = KERNEL_CS;
		regs = &here;
	}
	console_printf("eip %08x cs %04x eflags %08x esp %08x trap %u error %x cr2 %08x cr3 %08x cr0 %08x\n", regs->eip,
		       regs->cs, regs->eflags, regs_stack(regs), regs->trap, regs->error, cr2_read(), cr3_read(),
		       cr0_read());
	console_printf("eax %08x ebx %08x ecx %08x edx %08x esi %08x edi %08x ebp %08x ds %04x es %04x\n", regs->eax,
		       regs->ebx, regs->ecx, regs->edx, regs->esi, regs->edi, regs->ebp, regs->ds, regs->es);
}

/* There is no chain of frames: every word of the stack that may be a return address is shown. */
void arch_show_stack(const struct regs *regs)
{
	extern const char kernel_start[], text_end[];
	u32 sp = regs && !regs_user(regs) ? regs_stack(regs) : (u32)__builtin_frame_address(0);
	u32 low = (u32)current->kernel_stack, high = low + KERNEL_STACK_SIZE;
	int shown = 0;

	console_printf("called from, among others,");
	for (sp &= ~3u; low && sp >= low && sp < high && shown < 24; sp += 4) {
		u32 word = *(const u32 *)sp;

		if (word >= (u32)kernel_start && word < (u32)text_end) {
			console_printf(" %08x", word);
			shown++;
		}
	}
	console_printf("\n");
}
