/* The pair of 8259 interrupt controllers (Intel 8259A data sheet). */
#include <arch.h>
#include <board.h>
#include <irq.h>

#define MASTER 0x20u    /* ISA ports: command; the next one is data */
#define SLAVE 0xa0u
#define CASCADE 2u      /* the slave's input on the master */

#define ICW1_INIT_ICW4 0x11
#define ICW4_8086 0x01
#define OCW2_EOI 0x20
#define OCW3_READ_ISR 0x0b
#define OCW3_POLL 0x0c
#define POLL_PENDING 0x80

static u8 *io_ports;
static u8 *acknowledge_byte;
static u16 masked_inputs = 0xffff & ~(1u << CASCADE);

static void write_masks(void)
{
	io_write8(io_ports + MASTER + 1, (u8)masked_inputs);
	io_write8(io_ports + SLAVE + 1, (u8)(masked_inputs >> 8));
}

void i8259_init(uintptr_t ports, uintptr_t acknowledge)
{
	io_ports = (u8 *)ports;
	acknowledge_byte = (u8 *)acknowledge;
	io_write8(io_ports + MASTER, ICW1_INIT_ICW4);
	io_write8(io_ports + MASTER + 1, ARCH_IRQ_VECTOR);      /* ICW2: the first of eight vectors */
	io_write8(io_ports + MASTER + 1, 1u << CASCADE);        /* ICW3 */
	io_write8(io_ports + MASTER + 1, ICW4_8086);
	io_write8(io_ports + SLAVE, ICW1_INIT_ICW4);
	io_write8(io_ports + SLAVE + 1, ARCH_IRQ_VECTOR + 8);
	io_write8(io_ports + SLAVE + 1, CASCADE);
	io_write8(io_ports + SLAVE + 1, ICW4_8086);
	write_masks();
}

static void i8259_mask(unsigned irq)
{
	masked_inputs |= (u16)(1u << irq);
	write_masks();
}

void i8259_unmask(unsigned irq)
{
	masked_inputs &= (u16)~(1u << irq);
	write_masks();
}

static u8 read_register(u32 controller, u8 which)
{
	io_write8(io_ports + controller, which);
	return io_read8(io_ports + controller);
}

/* A request that ended before the acknowledge shows as input 7 or 15 without its in-service bit. */
static bool i8259_spurious(unsigned irq)
{
	if (irq == 7)
		return !(read_register(MASTER, OCW3_READ_ISR) & 0x80);
	if (irq == 15 && !(read_register(SLAVE, OCW3_READ_ISR) & 0x80)) {
		io_write8(io_ports + MASTER, OCW2_EOI);
		return true;
	}
	return false;
}

/* For boards without the acknowledge byte: the poll command acknowledges the interrupt, as a read of the byte does. */
static int acknowledge_by_poll(void)
{
	u8 answer = read_register(MASTER, OCW3_POLL);

	if (!(answer & POLL_PENDING))
		return -1;
	if ((answer & 7u) != CASCADE)
		return answer & 7;
	answer = read_register(SLAVE, OCW3_POLL);
	if (answer & POLL_PENDING)
		return 8 + (answer & 7);
	io_write8(io_ports + MASTER, OCW2_EOI);
	return -1;
}

/* The pending input, or -1 for a spurious interrupt. */
static int i8259_acknowledge(void)
{
	unsigned irq;

	if (!acknowledge_byte)
		return acknowledge_by_poll();
	irq = io_read8(acknowledge_byte) & 15u;
	return i8259_spurious(irq) ? -1 : (int)irq;
}

static void i8259_end(unsigned irq)
{
	if (irq >= 8)
		io_write8(io_ports + SLAVE, OCW2_EOI);
	io_write8(io_ports + MASTER, OCW2_EOI);
}

void i8259_dispatch(void)
{
	int irq = i8259_acknowledge();

	if (irq < 0) {
		irq_spurious();
		return;
	}
	if (!irq_handle((unsigned)irq))
		i8259_mask((unsigned)irq);      /* no handler: mask the input, or the interrupt repeats for ever */
	i8259_end((unsigned)irq);
}

const struct irq_controller i8259_controller = { "8259", i8259_dispatch, i8259_unmask, NULL };
