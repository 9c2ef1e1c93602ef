/* The order in which the parts of the kernel start. */
#include <arch.h>
#include <arch/boot.h>
#include <check.h>
#include <command_line.h>
#include <context.h>
#include <filesystem.h>
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

static void make_root(void)
{
	if (!boot.initrd_end)
		fatal(EXIT_NO_INIT, "initramfs: there is none");
	if (initramfs_unpack())
		power_off(EXIT_NO_INIT);
	fs_mount_standard();
}

void kernel_main(const void *given)
{
	arch_init_early(given);
	boot_read(given);
	command_line_early();
	printk("pagewalk: %s at %u MHz, %u MB, %s\n", arch_cpu.name, arch_cpu.clock_hz / 1000000,
	       boot.memory_size >> 20, mmu->reload);
	arch_map_memory();

	boot_frames(given);
	mmu->init();
	pagetable_init();
	mm_init();
	check_init();
	if (boot.check_sleeps)
		check_areas_sleep();
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
	procfs_init();
	sysfs_init();
	devfs_init();
	pipe_init();
	tty_init();
	mm_proc_init();
	make_root();
	arch_init_console();
	if (boot.failalloc)
		failalloc_set(boot.failalloc);
	start_init(boot.init, boot.init_arguments);
	idle_loop();
}
