/* The information of a boot loader (Multiboot specification 0.6.96, section 3.3). */
#ifndef ARCH_X86_MULTIBOOT_H
#define ARCH_X86_MULTIBOOT_H
#include <types.h>

#define MULTIBOOT_MAGIC 0x2badb002u

struct multiboot {
	u32 flags;
	u32 memory_lower, memory_upper;         /* KB, from 0 and from 1 MB */
	u32 boot_device;
	u32 command_line;                       /* physical addresses, as all below */
	u32 module_count, modules;
	u32 symbols[4];
	u32 map_length, map;
	u32 drives_length, drives, configuration;
	u32 loader_name;
};
#define MULTIBOOT_MEMORY       0x001u
#define MULTIBOOT_COMMAND_LINE 0x004u
#define MULTIBOOT_MODULES      0x008u
#define MULTIBOOT_LOADER_NAME  0x200u

struct multiboot_module {
	u32 start, end, text, reserved;
};

#endif
