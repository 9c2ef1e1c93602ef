/* Messages on the console, and the ways in which the kernel ends. */
#include <arch.h>
#include <lib.h>
#include <panic.h>
#include <proc.h>
#include <tty.h>

#define MESSAGE_MAX 512

static void console_vprintf(const char *format, va_list args)
{
	char text[MESSAGE_MAX];
	int length = vsnprintf(text, sizeof(text), format, args);

	uart_write(text, MIN((size_t)length, sizeof(text) - 1));
}

void console_printf(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	console_vprintf(format, args);
	va_end(args);
}

void fatal(int status, const char *format, ...)
{
	va_list args;

	console_printf("pagewalk: ");
	va_start(args, format);
	console_vprintf(format, args);
	va_end(args);
	console_printf("\n");
	power_off(status);
}

static void show_regs(const struct regs *regs)
{
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
static void show_stack(u32 sp)
{
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

static void panic_end(const struct regs *regs)
{
	static bool again;

	if (again)
		power_off(EXIT_PANIC);
	again = true;
	console_printf("task %d \"%s\"\n", current->pid, current->name);
	if (regs)
		show_regs(regs);
	show_stack(regs && !regs_user(regs) ? regs->gpr[1] : (u32)__builtin_frame_address(0));
	power_off(EXIT_PANIC);
}

static __attribute__((noreturn)) void panic_with(const struct regs *regs, const char *format, va_list args)
{
	irq_disable();
	console_printf("kernel panic: ");
	console_vprintf(format, args);
	console_printf("\n");
	panic_end(regs);
	__builtin_unreachable();
}

void panic(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	panic_with(NULL, format, args);
}

void panic_regs(const struct regs *regs, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	panic_with(regs, format, args);
}
