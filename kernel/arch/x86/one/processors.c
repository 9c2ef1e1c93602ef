/* What an x86 has with one processor: no local APIC, and the timer of the 8254. */
#include <arch.h>
#include <lib.h>

#include "../internal.h"

void processors_look(void)
{
	if (processors.count > 1)
		printk("pagewalk: this is the image for one processor, and uses one of %u; vmlinux-smp uses all\n",
		       processors.count);
}

void apic_init(void)
{
}

void apic_gates_set(bool checked)
{
	(void)checked;
}

void apic_account(void)
{
}

void arch_timer_set(u32 ticks)
{
	i8254_timer_set(ticks);
}
