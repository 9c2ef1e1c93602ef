/* What the boot loader says: memory, initramfs and command line (arch/boot.h). */
#include <arch.h>
#include <arch/boot.h>
#include <lib.h>
#include <mmu.h>

#include "multiboot.h"

#define COMMAND_LINE_MOST 4096u

static char command_line[COMMAND_LINE_MOST];

/* Most boot loaders put the image's name before the words; the pagewalk machine's does not. */
static const char *skip_image(const char *line, const char *loader)
{
	if (strncmp(loader, "pagewalk", 8) == 0)
		return line;
	while (*line && *line != ' ')
		line++;
	while (*line == ' ')
		line++;
	return line;
}

/* Whether [pa, pa + size) lies in RAM. */
static bool in_memory(u32 pa, u32 size)
{
	return size <= boot.memory_size && pa <= boot.memory_size - size;
}

/* The information lies in memory that the kernel will use: what is needed later is copied. */
void boot_read(const void *given)
{
	const struct multiboot *info = given;
	const struct multiboot_module *module;

	boot.command_line = command_line;
	if (!info || !(info->flags & MULTIBOOT_MEMORY))
		fatal(EXIT_PANIC, "Multiboot: the boot loader does not say how much memory there is");
	boot.memory_size = 0x100000;
	if (info->memory_upper)
		boot.memory_size += MIN(info->memory_upper, (0xffffffffu >> 10) - 1024) << 10;
	boot.memory_size = MIN(ALIGN_DOWN(boot.memory_size, PAGE_SIZE), mmu->memory_most);
	if (info->flags & MULTIBOOT_COMMAND_LINE && in_memory(info->command_line, 1)) {
		const char *line = pa_kva(info->command_line);

		if (info->flags & MULTIBOOT_LOADER_NAME && in_memory(info->loader_name, 1))
			line = skip_image(line, pa_kva(info->loader_name));
		/* What is cut off here was too long: command_line.c takes fewer bytes, and refuses the rest. */
		strlcpy(command_line, line, sizeof(command_line));
	}
	if (!(info->flags & MULTIBOOT_MODULES) || !info->module_count || !in_memory(info->modules, sizeof(*module)))
		return;
	module = pa_kva(info->modules);
	if (module->start < module->end && module->end <= boot.memory_size) {
		boot.initrd_start = module->start;
		boot.initrd_end = module->end;
	}
}

/* Only the initramfs is needed later. */
void boot_frames(const void *given)
{
	struct frame_range initrd = { boot.initrd_start, boot.initrd_end };

	(void)given;
	frames_init(&initrd, initrd.end ? 1 : 0);
}
