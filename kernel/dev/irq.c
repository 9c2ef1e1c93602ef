/* The handler and the count of each external interrupt. */
#include <cpu.h>
#include <irq.h>
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

static const char *name_of(const struct line *line)
{
	return line->name ? line->name : "nobody";
}

void irq_spurious(void)
{
	this_cpu()->spurious_irqs++;
}

static u32 irq_sum(unsigned irq)
{
	u32 sum = 0;

	for_each_cpu(cpu)
		sum += cpu->irqs[irq];
	return sum;
}

void irq_show_sums(struct text *text)
{
	u64 total = 0;

	for_each_cpu(cpu) {
		for (unsigned irq = 0; irq < IRQS; irq++)
			total += cpu->irqs[irq];
		for (unsigned kind = 0; kind < IPI_KINDS; kind++)
			total += cpu->ipis[kind];
		total += cpu->timer_irqs + cpu->spurious_irqs + cpu->machine_checks;
	}
	text_printf(text, "intr %llu", total);
	for (unsigned irq = 0; irq < IRQS; irq++)
		text_printf(text, " %u", irq_sum(irq));
	text_puts(text, "\n");
}

/* What has no number; the names are those of Linux on this architecture. */
static void show_others(struct text *text)
{
	static const struct { const char *name; size_t count; const char *what; } rows[] = {
		{ "LOC", offsetof(struct cpu, timer_irqs), "Local timer interrupts for timer event device" },
		{ "SPU", offsetof(struct cpu, spurious_irqs), "Spurious interrupts" },
		{ "MCE", offsetof(struct cpu, machine_checks), "Machine check exceptions" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		text_printf(text, "%s:", rows[i].name);
		for_each_cpu(cpu)
			text_printf(text, " %10u", *(const u32 *)((const u8 *)cpu + rows[i].count));
		text_printf(text, "  %s\n", rows[i].what);
	}
}

void irq_show(struct text *text)
{
	text_puts(text, "    ");
	for_each_cpu(cpu)
		text_printf(text, "       CPU%u", cpu_index(cpu));
	text_puts(text, "\n");
	for (unsigned irq = 0; irq < IRQS; irq++) {
		if (!irq_lines[irq].name && !irq_sum(irq))
			continue;
		text_printf(text, "%3u:", irq);
		for_each_cpu(cpu)
			text_printf(text, " %10u", cpu->irqs[irq]);
		text_printf(text, "  %s  %s\n", board_controller->name, name_of(&irq_lines[irq]));
	}
	for (unsigned kind = 0; ipi_possible() && kind < IPI_KINDS; kind++) {
		if (!ipi_lines[kind].name)
			continue;
		text_printf(text, "IPI%u:", kind);
		for_each_cpu(cpu)
			text_printf(text, "%*u", cpu == cpus ? 10 : 11, cpu->ipis[kind]);
		text_printf(text, "  %s  %s\n", board_controller->name, name_of(&ipi_lines[kind]));
	}
	show_others(text);
}
