/* What the device tree says, and the order in which the parts of the kernel start. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/reload.h>
#include <check.h>
#include <command_line.h>
#include <context.h>
#include <control.h>
#include <errno.h>
#include <fdt.h>
#include <frame.h>
#include <fs.h>
#include <ipc.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <policy.h>
#include <proc.h>
#include <procfs.h>
#include <random.h>
#include <time.h>
#include <tty.h>

#include "internal.h"

#define UART_PA     0x800003f8u
#define PORTS_PA    0x80000000u
#define INTACK_PA   0xbffffff0u
#define UART_IRQ    4u

extern struct task idle_task;    /* proc/sched.c: the context that boots */

struct boot boot = { .init = "/init" };
bool board_is_qemu;
const struct mmu_backend *mmu;
_Alignas(16) char boot_stack[KERNEL_STACK_SIZE];

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
		fatal(EXIT_PANIC, "the device tree lacks /cpus/cpu@0 timebase-frequency");
}

static void read_memory(const void *fdt)
{
	u32 length;
	const u32 *reg = fdt_property(fdt, "/memory", "reg", &length);

	if (!reg || length < 8 || reg[0] != 0)
		fatal(EXIT_PANIC, "the device tree lacks /memory with reg from 0");
	boot.memory_size = MIN(ALIGN_DOWN(reg[1], PAGE_SIZE), mmu->memory_most);
	fdt_u32(fdt, "/chosen", "linux,initrd-start", &boot.initrd_start);
	fdt_u32(fdt, "/chosen", "linux,initrd-end", &boot.initrd_end);
	if (boot.initrd_start >= boot.initrd_end || boot.initrd_end > boot.memory_size)
		boot.initrd_start = boot.initrd_end = 0;
	boot.command_line = fdt_string(fdt, "/chosen", "bootargs");
	if (!boot.command_line)
		boot.command_line = "";
}

static void start_frames(const void *fdt)
{
	struct frame_range tree = { kva_pa(fdt), kva_pa(fdt) + fdt_size(fdt) };
	struct frame_range initrd = { boot.initrd_start, boot.initrd_end };
	struct frame_range ranges[2];
	unsigned n = 0;

	if (initrd.end && initrd.start < tree.start)
		ranges[n++] = initrd;
	ranges[n++] = tree;
	if (initrd.end && initrd.start >= tree.start)
		ranges[n++] = initrd;
	frames_init(ranges, n);
}

static void bind_backend(void)
{
	static struct mmu_backend qemu;

	mmu = cpu_identify();
	if (mmu == &soft6xx_backend && board_is_qemu) {
		qemu = soft6xx_qemu_backend();
		mmu = &qemu;
	}
}

static void make_root(void)
{
	if (!boot.initrd_end)
		fatal(EXIT_NO_INIT, "there is no initramfs");
	if (initramfs_unpack(pa_kva(boot.initrd_start), boot.initrd_end - boot.initrd_start))
		power_off(EXIT_NO_INIT);
	frames_release(boot.initrd_start, boot.initrd_end);
	fs_mount_standard();
}

void start_c(const void *fdt_physical)
{
	const void *fdt = pa_kva((u32)fdt_physical);

	uart_init((uintptr_t)arch_io(UART_PA));
	exceptions_init();
	idle_task.kernel_stack = boot_stack;
	if (fdt_check(fdt))
		fatal(EXIT_PANIC, "r3 does not point to a device tree");
	const char *compatible = fdt_string(fdt, "/", "compatible");

	board_is_qemu = compatible && strcmp(compatible, "qemu,40p") == 0;
	control_init(fdt_string(fdt, "/isa/pagewalk", "compatible") != NULL);
	bind_backend();
	read_cpu(fdt);
	read_memory(fdt);
	command_line_early();

	printk("pagewalk: %s at %u MHz, %u MB, %s\n", arch_cpu.name, arch_cpu.clock_hz / 1000000,
	       boot.memory_size >> 20, mmu->software_reload ? "software reload" : "hardware search");
	if (mmu->blocks) {
		bat_map_ram(boot.memory_size);
		bat_map_io(true);
	}
	start_frames(fdt);
	mmu->init();
	pagetable_init();
	mm_init();
	check_init();
	context_start();
	reload_bind(false);
	command_line_policies();
	policy_apply_all();
	context_restart();

	time_init(arch_cpu.timebase_hz);
	i8259_init((uintptr_t)arch_io(PORTS_PA), board_is_qemu ? 0 : (uintptr_t)arch_io(INTACK_PA));
	proc_init();
	fs_init();
	tty_init();
	mm_proc_init();
	mqueue_proc_init();
	make_root();
	i8259_mask(UART_IRQ, false);
	uart_enable_receive();
	failalloc_set(boot.failalloc);
	start_init(boot.init, boot.init_arguments);
	idle_loop();
}
