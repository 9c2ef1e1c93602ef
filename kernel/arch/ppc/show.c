/* Registers and return addresses, as a panic shows them. */
#include <arch.h>
#include <lib.h>
#include <task.h>

/* The registers of this processor, as they are in the caller of arch_show_regs(). */
static void regs_here(struct regs *regs, vaddr_t caller)
{
	*regs = (struct regs) { .nip = caller, .link = caller };
	__asm__ volatile("stmw 0, 0(%2)\n\tmfctr %0\n\tmfxer %1" : "=&r"(regs->ctr), "=&r"(regs->xer)
			 : "b"(regs->gpr) : "memory");
	__asm__ volatile("mfcr %0\n\tmfmsr %1" : "=&r"(regs->ccr), "=&r"(regs->msr));
}

void arch_show_regs(const struct regs *regs)
{
	struct regs here;

	if (!regs) {
		regs_here(&here, (vaddr_t)__builtin_return_address(0));
		regs = &here;
	}
	console_printf("nip %08x msr %08x lr %08x ctr %08x xer %08x cr %08x trap %x dar %08x dsisr %08x\n", regs->nip,
		       regs->msr, regs->link, regs->ctr, regs->xer, regs->ccr, regs->trap, regs->dar, regs->dsisr);
	for (int i = 0; i < 32; i += 8) {
		console_printf("r%-2d", i);
		for (int j = 0; j < 8; j++)
			console_printf(" %08x", regs->gpr[i + j]);
		console_printf("\n");
	}
}

/* Return addresses along the back chain (System V ABI, PowerPC supplement, section 3). */
void arch_show_stack(const struct regs *regs)
{
	u32 sp = regs && !regs_user(regs) ? regs->gpr[1] : (u32)__builtin_frame_address(0);
	u32 low = (u32)current->kernel_stack, high = low + KERNEL_STACK_SIZE;

	console_printf("called from");
	for (int depth = 0; depth < 16 && sp % 4 == 0; depth++) {
		u32 next;

		if (low && (sp < low || sp + 8 > high))
			break;
		next = *(u32 *)sp;
		if (next <= sp || next - sp > KERNEL_STACK_SIZE)
			break;
		console_printf(" %08x", *(u32 *)(next + 4));
		sp = next;
	}
	console_printf("\n");
}
