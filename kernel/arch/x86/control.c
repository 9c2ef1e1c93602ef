/* An i386's part of the control device: where it is, and how QEMU ends. */
#include <arch.h>
#include <control.h>

#include "internal.h"

#define CONTROL_CLOCK 0x40      /* of the core, in Hz */
#define MAGIC 0x50574c4bu

/* QEMU's device isa-debug-exit: a write ends QEMU, with twice the value and 1 as its status. */
#define DEBUG_EXIT_PORT 0xf4u

/* On other PCs the address has nothing, and reads as ones or zeros. */
void control_init(bool in_tree)
{
	u32 *registers = arch_io(CONTROL_PA);

	(void)in_tree;
	if (io_read32((u8 *)registers + CONTROL_MAGIC) != MAGIC)
		return;
	control_start(registers);
	arch_cpu.clock_hz = control_read(CONTROL_CLOCK);
	if (arch_cpu.clock_hz == ~0u)
		arch_cpu.clock_hz = 0;
}

void control_bind(void)
{
	(void)control_report_switches();
}

void arch_halt(int status)
{
	__asm__ volatile("outl %0, %w1" : : "a"(status), "d"(DEBUG_EXIT_PORT));
	for (;;)
		__asm__ volatile("hlt");
}
