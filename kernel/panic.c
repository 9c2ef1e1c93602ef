/* Messages on the console, and the ways in which the kernel ends. */
#include <arch.h>
#include <board.h>
#include <cpu.h>
#include <lib.h>
#include <panic.h>
#include <smp.h>
#include <task.h>

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

static NORETURN void panic_end(const struct regs *regs)
{
	console_printf("task %d \"%s\"%s\n", current->pid, current->name,
		       stack_overflown(current, regs) ? ": kernel stack overflow" : "");
	arch_show_regs(regs);
	arch_show_stack(regs);
	cpus_stop();
	power_off(EXIT_PANIC);
}

/* Of several processors that panic at once, the first prints all and asks the others, one by one, to print theirs. */
static NORETURN void panic_with(const struct regs *regs, const char *format, va_list args)
{
	static u32 first;       /* 1 + the number of the processor that panicked first */
	u32 here = 1 + cpu_index(this_cpu());
	bool is_first;

	irq_disable();
	is_first = arch_exchange_if(&first, 0, here);
	if (!is_first) {
		if (first == here)
			power_off(EXIT_PANIC);
		cpu_wait_to_stop();
		console_printf("processor %u: ", here - 1);
	}
	console_printf("kernel panic: ");
	console_vprintf(format, args);
	console_printf("\n");
	if (!is_first)
		cpu_stop(regs);
	panic_end(regs);
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
