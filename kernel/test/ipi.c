/* Interrupts between processors: the boot's sends itself each kind (check=on). */
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <window.h>

static u32 ipis_came[IPI_KINDS];

#define COUNTER(kind) static void count_##kind(void) { ipis_came[kind]++; }
COUNTER(0)
COUNTER(1)
COUNTER(2)
COUNTER(3)

static void ipi_expect(unsigned kind, u32 count, const char *when)
{
	if (ipis_came[kind] != count)
		panic("interrupt %u between processors: came %u times, not %u, %s", kind, ipis_came[kind], count, when);
}

void ipi_test(void)
{
	static void (*const handlers[IPI_KINDS])(void) = { count_0, count_1, count_2, count_3 };
	u32 self = 1u << this_cpu()->number;

	for (unsigned kind = 0; kind < IPI_KINDS; kind++) {
		ipi_register(kind, "boot test", handlers[kind]);
		ipi_send(self, kind);
		ipi_send(self, kind);
		ipi_expect(kind, 0, "while interrupts are off");
		interrupt_window();
		ipi_expect(kind, 1, "after two were sent");
		ipi_send(self, kind);
		interrupt_window();
		ipi_expect(kind, 2, "after a third");
	}
	for (unsigned kind = 0; kind < IPI_KINDS; kind++) {
		ipi_expect(kind, 2, "after the others");
		ipi_register(kind, NULL, NULL);
	}
	printk("check: processor %u interrupts itself: %u kinds\n", this_cpu()->number, IPI_KINDS);
}
