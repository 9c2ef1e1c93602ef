/* The handler and the count of each external interrupt. */
#include <irq.h>

#include <cpu.h>
#include <lib.h>
#include <text.h>

struct line {
	const char *name;
	void (*handler)(void);
};

static const struct irq_controller *board_controller;
static struct line irq_lines[IRQS], ipi_lines[IPI_KINDS];

void irq_init(const struct irq_controller *of_the_board)
{
	board_controller = of_the_board;
}

void irq_dispatch(void)
{
	board_controller->dispatch();
}

void irq_register(unsigned irq, const char *name, void (*handler)(void))
{
	irq_lines[irq] = (struct line){ name, handler };
	board_controller->unmask(irq);
}

bool irq_handle(unsigned irq)
{
	this_cpu()->irqs[irq]++;
	if (!irq_lines[irq].handler)
		return false;
	irq_lines[irq].handler();
	return true;
}

void ipi_register(unsigned kind, const char *name, void (*handler)(void))
{
	ipi_lines[kind] = (struct line){ name, handler };
}

bool ipi_possible(void)
{
	return board_controller->ipi_send != NULL;
}

void ipi_send(u32 cpus, unsigned kind)
{
	board_controller->ipi_send(cpus, kind);
}

void ipi_handle(unsigned kind)
{
	this_cpu()->ipis[kind]++;
	if (ipi_lines[kind].handler)
		ipi_lines[kind].handler();
}

static bool irq_came(unsigned irq)
{
	for_each_cpu(cpu)
		if (cpu->irqs[irq])
			return true;
	return false;
}

static const char *name_of(const struct line *line)
{
	return line->name ? line->name : "nobody";
}

u64 irq_total(void)
{
	u64 total = 0;

	for_each_cpu(cpu) {
		for (unsigned irq = 0; irq < IRQS; irq++)
			total += cpu->irqs[irq];
		for (unsigned kind = 0; kind < IPI_KINDS; kind++)
			total += cpu->ipis[kind];
	}
	return total;
}

void irq_show(struct text *text)
{
	text_puts(text, "    ");
	for_each_cpu(cpu)
		text_printf(text, "       CPU%u", cpu_index(cpu));
	text_puts(text, "\n");
	for (unsigned irq = 0; irq < IRQS; irq++) {
		if (!irq_lines[irq].name && !irq_came(irq))
			continue;
		text_printf(text, "%3u:", irq);
		for_each_cpu(cpu)
			text_printf(text, " %10u", cpu->irqs[irq]);
		text_printf(text, "  %s  %s\n", board_controller->name, name_of(&irq_lines[irq]));
	}
	for (unsigned kind = 0; ipi_possible() && kind < IPI_KINDS; kind++) {
		text_printf(text, "IPI%u:", kind);
		for_each_cpu(cpu)
			text_printf(text, " %9u", cpu->ipis[kind]);
		text_printf(text, "  %s  %s\n", board_controller->name, name_of(&ipi_lines[kind]));
	}
}
