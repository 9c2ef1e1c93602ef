/* The architecture's steps of the boot (main.c), and its boards. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reload.h>
#include <arch/vsid.h>
#include <board.h>
#include <control.h>
#include <cpu.h>
#include <fdt.h>
#include <frame.h>
#include <irq.h>
#include <lib.h>
#include <task.h>

#include "internal.h"

#define UART_PA     0x800003f8u
#define PORTS_PA    0x80000000u
#define INTACK_PA   0xbffffff0u
#define UART_IRQ    4u

static bool board_is_qemu;      /* QEMU's 40p */
static u32 openpic_pa;          /* 0: the board has none */
static u32 openpic_cascade;     /* its input to which the 8259 pair is connected */
struct mmu_backend mmu[1];
const struct ppc_backend *backend;
_Alignas(16) char boot_stack[KERNEL_STACK_SIZE];        /* of the first idle task */

static void read_cpu(const void *fdt)
{
	static const char cpu[] = "/cpus/cpu";

	arch_cpu.dcache_line = arch_cpu.icache_line = 32;
	fdt_u32(fdt, cpu, "d-cache-line-size", &arch_cpu.dcache_line);
	fdt_u32(fdt, cpu, "i-cache-line-size", &arch_cpu.icache_line);
	fdt_u32(fdt, cpu, "d-cache-size", &arch_cpu.dcache_size);
	fdt_u32(fdt, cpu, "i-cache-size", &arch_cpu.icache_size);
	fdt_u32(fdt, cpu, "clock-frequency", &arch_cpu.clock_hz);
	fdt_u32(fdt, cpu, "bus-frequency", &arch_cpu.bus_hz);
	if (!fdt_u32(fdt, cpu, "timebase-frequency", &arch_cpu.timebase_hz))
		fatal(EXIT_PANIC, "device tree: no timebase-frequency in /cpus/cpu@0");
}

u32 processors_described = 1;

static void count_processors(const void *fdt)
{
	char node[] = "/cpus/cpu@1";
	u32 length;

	while (processors_described < BOARD_CPUS && fdt_property(fdt, node, "reg", &length)) {
		processors_described++;
		node[sizeof(node) - 2]++;
	}
	processors_look(fdt, openpic_pa != 0);
}

static void find_openpic(const void *fdt)
{
	static const char node[] = "/interrupt-controller";
	const char *type = fdt_string(fdt, node, "device_type");
	u32 length;
	const u32 *reg = fdt_property(fdt, node, "reg", &length);

	if (!type || strcmp(type, "open-pic") != 0)
		return;
	if (!reg || length < 8 || !io_add_openpic(reg[0], reg[1]))
		fatal(EXIT_PANIC, "OpenPIC: no block can map its registers");
	openpic_pa = reg[0];
	if (!fdt_u32(fdt, "/isa/interrupt-controller", "interrupts", &openpic_cascade))
		fatal(EXIT_PANIC, "device tree: no interrupts in /isa/interrupt-controller");
}

static void bind_backend(void)
{
	backend = cpu_identify();
	if (board_is_qemu && backend->on_qemu)
		backend = backend->on_qemu();
	mmu[0] = backend->mmu;
	activate_set_own(backend->mmu.activate);
	control_bind();
}

void arch_init_early(const void *fdt)
{
	uart_init((uintptr_t)arch_io(UART_PA));
	exceptions_init();
	this_cpu()->idle->kernel_stack = boot_stack;
	stack_mark(this_cpu()->idle);
	if (fdt_check(fdt))
		fatal(EXIT_PANIC, "device tree: r3 does not point to one");
	const char *compatible = fdt_string(fdt, "/", "compatible");

	board_is_qemu = compatible && strcmp(compatible, "qemu,40p") == 0;
	control_init(fdt_string(fdt, "/isa/pagewalk", "compatible") != NULL);
	bind_backend();
	read_cpu(fdt);
	find_openpic(fdt);
	count_processors(fdt);
}

void arch_map_memory(void)
{
	if (backend->bats) {
		bat_map_ram(boot.memory_size);
		bat_map_io(true);
	}
}

void arch_init_translation(void)
{
	context_start();
	reload_bind(RELOAD_C);
}

void arch_init_interrupts(void)
{
	/* Behind an OpenPIC the pair is polled: the acknowledge byte is not mapped then. */
	i8259_init((uintptr_t)arch_io(PORTS_PA), board_is_qemu ? 0 : (uintptr_t)arch_io(INTACK_PA));
	if (openpic_pa)
		openpic_init((uintptr_t)arch_io(openpic_pa), openpic_cascade);
	irq_init(openpic_pa ? &openpic_controller : &i8259_controller);
}

void arch_init_console(void)
{
	irq_register(UART_IRQ, "serial", uart_interrupt);
	uart_enable_receive();
}

void start_c(const void *fdt_physical)
{
	kernel_main(pa_kva((u32)fdt_physical));
}
