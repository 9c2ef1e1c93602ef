/* The boot protocol: what the boot loader says of memory, initramfs and command line. Here by a device tree. */
#ifndef ARCH_BOOT_H
#define ARCH_BOOT_H
#include <arch.h>
#include <fdt.h>
#include <frame.h>
#include <lib.h>
#include <mmu.h>

/* Fills in `boot` (arch.h), all but the words of the command line. */
static inline void boot_read(const void *fdt)
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

/* Starts the allocator of frames, which must not use what the boot loader has left. */
static inline void boot_frames(const void *fdt)
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

#endif
