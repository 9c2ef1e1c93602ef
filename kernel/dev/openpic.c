/*
 * OpenPIC interrupt controller (Open PIC Register Interface Specification 1.2; Motorola MTX Series Programmer's
 * Reference Guide, 2-47 to 2-77). Its registers are little-endian. The 8259 pair interrupts through one of its sources.
 * Four channels carry interrupts between processors; a processor can also interrupt itself.
 */
#include <arch.h>
#include <board.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <smp.h>

/* Registers of the processor that accesses them. */
#define DISPATCH(kind)  (0x40u + 0x10u * (kind))
#define TASK_PRIORITY   0x80u
#define WHO_AM_I        0x90u

#define FEATURE         0x1000u
#define CONFIGURATION   0x1020u
#define PROCESSOR_INIT  0x1090u         /* a bit for each processor that is held in reset */
#define IPI(kind)       (0x10a0u + 0x10u * (kind))
#define SPURIOUS        0x10e0u
#define SOURCE(number)  (0x10000u + 0x20u * (number))
#define DESTINATION     0x10u

#define CONFIGURATION_RESET 0x80000000u
#define CONFIGURATION_MIXED 0x20000000u /* the 8259 pair does not go past this controller */
#define FEATURE_LAST_SOURCE(value) ((value) >> 16 & 0x7ffu)

#define ACTIVE_HIGH 0x00800000u
#define LEVEL 0x00400000u
#define PRIORITY(n) ((u32)(n) << 16)

/* Interrupts between processors have the higher priority, because the sender may wait for an answer. */
#define PRIORITY_CASCADE 8
#define PRIORITY_IPI     10

#define VECTOR_CASCADE  0x10u
#define VECTOR_SPURIOUS 0xffu

static u8 *openpic_base;

static u32 openpic_get(u32 offset)
{
	return io_read32_le(openpic_base + offset);
}

static void openpic_put(u32 offset, u32 value)
{
	io_write32_le(openpic_base + offset, value);
}

void openpic_init(uintptr_t registers, unsigned cascade)
{
	openpic_base = (u8 *)registers;
	openpic_put(CONFIGURATION, CONFIGURATION_RESET);
	while (openpic_get(CONFIGURATION) & CONFIGURATION_RESET)
		;
	if (cascade > FEATURE_LAST_SOURCE(openpic_get(FEATURE)))
		fatal(EXIT_PANIC, "OpenPIC: no source %u for the 8259 pair", cascade);
	openpic_put(SPURIOUS, VECTOR_SPURIOUS);
	openpic_put(SOURCE(cascade) + DESTINATION, 1);
	openpic_put(SOURCE(cascade), ACTIVE_HIGH | LEVEL | PRIORITY(PRIORITY_CASCADE) | VECTOR_CASCADE);
	for (unsigned kind = 0; kind < IPI_KINDS; kind++)
		openpic_put(IPI(kind), PRIORITY(PRIORITY_IPI) | (OPENPIC_VECTOR_IPI + kind));
	openpic_put(CONFIGURATION, CONFIGURATION_MIXED);
	openpic_init_cpu();
}

void openpic_init_cpu(void)
{
	u32 number = openpic_get(WHO_AM_I);

	if (number != this_cpu()->number)
		fatal(EXIT_PANIC, "processor %u is number %u of the OpenPIC's", this_cpu()->number, number);
	openpic_put(TASK_PRIORITY, 0);
}

void openpic_start_cpu(u32 number)
{
	openpic_put(PROCESSOR_INIT, openpic_get(PROCESSOR_INIT) & ~(1u << number));
}

void openpic_stop_cpu(u32 number)
{
	openpic_put(PROCESSOR_INIT, openpic_get(PROCESSOR_INIT) | 1u << number);
}

/*
 * Ends an interrupt between processors before its handler runs, so that one that is sent during the handler is taken
 * afterwards.
 */
void openpic_handle(u32 vector)
{
	if (vector - OPENPIC_VECTOR_IPI < IPI_KINDS) {
		openpic_put(OPENPIC_END, 0);
		ipi_handle(vector - OPENPIC_VECTOR_IPI);
	} else if (vector == VECTOR_CASCADE) {
		kernel_lock_again();    /* kernel_leave() lets it go */
		i8259_dispatch();
		openpic_put(OPENPIC_END, 0);
	} else {
		irq_spurious();         /* must not be ended */
	}
}

static void openpic_dispatch(void)
{
	openpic_handle(openpic_get(OPENPIC_ACKNOWLEDGE));
}

static void openpic_send(u32 cpus, unsigned kind)
{
	/* The receivers must find the sender's data in memory. */
	arch_memory_barrier();
	openpic_put(DISPATCH(kind), cpus);
}

const struct irq_controller openpic_controller = { "OpenPIC", openpic_dispatch, i8259_unmask, openpic_send };
