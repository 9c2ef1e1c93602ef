/* The architecture's steps of the boot (main.c). The board is a PC. */
#include <arch.h>
#include <arch/boot_tables.h>
#include <board.h>
#include <control.h>
#include <cpu.h>
#include <frame.h>
#include <irq.h>
#include <lib.h>
#include <mmu.h>
#include <pagetable.h>
#include <task.h>
#include <time.h>

#include "internal.h"
#include "multiboot.h"
#include "several/apic.h"

#define UART_PORT  0x3f8u
#define UART_IRQ   4u
#define TIMER_IRQ  0u

/* Devices with registers in memory: where the board has them. One page each, from IO_VIRTUAL on. */
static const paddr_t io_pages[] = { APIC_PHYSICAL, CONTROL_USER_PAGE - PAGE_SIZE, CONTROL_USER_PAGE };

_Alignas(KERNEL_STACK_SIZE) char boot_stack[KERNEL_STACK_SIZE];        /* of the first idle task */
/* The mapping with which the kernel starts (head.S). */
_Alignas(PAGE_SIZE) struct root_entry boot_root[PTE_PER_TABLE];
_Alignas(PAGE_SIZE) struct pte boot_tables[BOOT_TABLES][PTE_PER_TABLE], boot_io[PTE_PER_TABLE];

_Static_assert(IO_VIRTUAL_ASM == IO_VIRTUAL && KERNEL_BASE_ASM == KERNEL_BASE, "the same in C and assembly");

void *arch_io(paddr_t pa)
{
	if (pa < PORTS)
		return (void *)pa;
	for (u32 i = 0; i < ARRAY_SIZE(io_pages); i++)
		if (pa - io_pages[i] < PAGE_SIZE)
			return (void *)(IO_VIRTUAL + i * PAGE_SIZE + (pa - io_pages[i]));
	return NULL;
}

void io_for_each_page(void (*function)(vaddr_t virtual, paddr_t pa))
{
	for (u32 i = 0; i < ARRAY_SIZE(io_pages); i++)
		function(IO_VIRTUAL + i * PAGE_SIZE, io_pages[i]);
}

static void map_io_early(vaddr_t virtual, paddr_t pa)
{
	pte_store(&boot_io[pagetable_index(virtual)], pte_make_kernel(pa, true));
}

void arch_init_early(const void *given)
{
	(void)given;
	this_cpu()->idle->kernel_stack = boot_stack;
	stack_mark(this_cpu()->idle);
	uart_init(UART_PORT);
	descriptors_load();
	io_for_each_page(map_io_early);
	cpu_identify();
	control_init(true);
	clock_init();
	processors_find();
	processors_look();
	mmu->memory_most = cpu_features & CPU_PSE ? LARGE_MOST * TABLE_SPAN : BOOT_TABLES * TABLE_SPAN;
	this_cpu()->arch.fpu_refuses = false;
	arch_fpu_drop(this_cpu()->idle);
	control_bind();
}

/* The start has mapped it. */
void arch_map_memory(void)
{
}

/* The tables of the start are no longer needed. */
void arch_init_translation(void)
{
	mmu->activate(this_cpu()->mm);
	frames_release(kva_pa(boot_root), kva_pa(boot_root) + sizeof(boot_root));
	frames_release(kva_pa(boot_tables), kva_pa(boot_tables) + sizeof(boot_tables));
	frames_release(kva_pa(boot_io), kva_pa(boot_io) + sizeof(boot_io));
}

static void timer_arrived(void)
{
	timer_interrupt(this_cpu()->arch.timer_regs);
}

/* The counter may have run out already, before its input could interrupt: it is set again. */
void arch_init_interrupts(void)
{
	i8259_init(0, (uintptr_t)&this_cpu()->arch.vector);
	irq_init(&i8259_controller);
	apic_init();
	irq_register(TIMER_IRQ, "timer", timer_arrived);
	arch_timer_set(1);
}

void arch_init_console(void)
{
	irq_register(UART_IRQ, "serial", uart_interrupt);
	uart_enable_receive();
}

void start_c(u32 magic, u32 info)
{
	if (magic != MULTIBOOT_MAGIC)
		info = 0;
	kernel_main(info ? pa_kva(info) : NULL);
}
