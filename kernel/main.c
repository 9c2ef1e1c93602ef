/* The order in which the parts of the kernel start. */
#include <arch.h>
#include <check.h>
#include <command_line.h>
#include <context.h>
#include <fdt.h>
#include <frame.h>
#include <fs.h>
#include <ipc.h>
#include <irq.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <policy.h>
#include <process.h>
#include <procfs.h>
#include <sched.h>
#include <smp.h>
#include <time.h>
#include <tty.h>

struct boot boot = { .init = "/init" };

static void read_memory(const void *fdt)
{
	u32 length;
	const u32 *reg = fdt_property(fdt, "/memory", "reg", &length);

	if (!reg || length < 8 || reg[0] != 0)
		fatal(EXIT_PANIC, "device tree: no /memory whose reg begins at 0");
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

static void make_root(void)
{
	if (!boot.initrd_end)
		fatal(EXIT_NO_INIT, "initramfs: there is none");
	if (initramfs_unpack())
		power_off(EXIT_NO_INIT);
	fs_mount_standard();
}

void kernel_main(const void *fdt)
{
	arch_init_early(fdt);
	read_memory(fdt);
	command_line_early();
	printk("pagewalk: %s at %u MHz, %u MB, %s\n", arch_cpu.name, arch_cpu.clock_hz / 1000000,
	       boot.memory_size >> 20, mmu->reload);
	arch_map_memory();

	start_frames(fdt);
	mmu->init();
	pagetable_init();
	mm_init();
	check_init();
	arch_init_translation();
	command_line_policies();
	policy_apply_all();
	context_restart();

	time_init(arch_timebase_hz());
	arch_init_interrupts();
	if (boot.check && ipi_possible())
		ipi_test();
	proc_init();
	smp_init();
	fs_init();
	tty_init();
	mm_proc_init();
	mqueue_proc_init();
	make_root();
	arch_init_console();
	if (boot.failalloc)
		failalloc_set(boot.failalloc);
	start_init(boot.init, boot.init_arguments);
	idle_loop();
}
