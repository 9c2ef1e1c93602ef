/* The handler and the count of each external interrupt. */
#include <irq.h>

#include <cpu.h>
#include <lib.h>
#include <text.h>

struct line {
	const char *name;
	void (*handler)(void);
};

static const struct irq_controller *controller;
static struct line irqs[IRQS], ipis[IPI_KINDS];

void irq_init(const struct irq_controller *of_the_board)
{
	controller = of_the_board;
}

void irq_dispatch(void)
{
	controller->dispatch();
}

void irq_register(unsigned irq, const char *name, void (*handler)(void))
{
	irqs[irq] = (struct line){ name, handler };
	controller->unmask(irq);
}

bool irq_handle(unsigned irq)
{
	this_cpu()->irqs[irq]++;
	if (!irqs[irq].handler)
		return false;
	irqs[irq].handler();
	return true;
}

void ipi_register(unsigned kind, const char *name, void (*handler)(void))
{
	ipis[kind] = (struct line){ name, handler };
}

bool ipi_possible(void)
{
	return controller->ipi_send != NULL;
}

void ipi_send(u32 cpus, unsigned kind)
{
	controller->ipi_send(cpus, kind);
}

void ipi_handle(unsigned kind)
{
	this_cpu()->ipis[kind]++;
	if (ipis[kind].handler)
		ipis[kind].handler();
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

void irq_show(struct text *text)
{
	text_puts(text, "    ");
	for_each_cpu(cpu)
		text_printf(text, "       CPU%u", cpu_index(cpu));
	text_puts(text, "\n");
	for (unsigned irq = 0; irq < IRQS; irq++) {
		if (!irqs[irq].name && !irq_came(irq))
			continue;
		text_printf(text, "%3u:", irq);
		for_each_cpu(cpu)
			text_printf(text, " %10u", cpu->irqs[irq]);
		text_printf(text, "  %s  %s\n", controller->name, name_of(&irqs[irq]));
	}
	for (unsigned kind = 0; ipi_possible() && kind < IPI_KINDS; kind++) {
		text_printf(text, "IPI%u:", kind);
		for_each_cpu(cpu)
			text_printf(text, " %9u", cpu->ipis[kind]);
		text_printf(text, "  %s  %s\n", controller->name, name_of(&ipis[kind]));
	}
}
