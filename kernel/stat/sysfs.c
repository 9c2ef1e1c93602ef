/* /sys: only the files that list the processors (sysfs-devices-system-cpu). */
#include <cpu.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>

#include "proc_internal.h"

#define CPU_DIRECTORY "devices/system/cpu/"

static struct proc_node sys_root_node = {
	.link = LIST_HEAD_INIT(sys_root_node.link),
	.children = LIST_HEAD_INIT(sys_root_node.children),
	.name = "",
	.ino = 1,
	.directory = true,
};

/* All processors are possible, present and online. */
static void all_list(struct text *text)
{
	text_cpus(text, (1u << cpu_count) - 1);
	text_puts(text, "\n");
}

static void show_none(struct text *text)
{
	text_puts(text, "\n");
}

static void show_highest_cpu(struct text *text)
{
	text_printf(text, "%u\n", cpu_count - 1);
}

static void show_zero(struct text *text)
{
	text_puts(text, "0\n");
}

/* Each processor is alone in its package: its number, and the set of it. */
#define PACKAGE(n)                                                                              \
	static void show_number_##n(struct text *text) { text_puts(text, #n "\n"); }           \
	static void show_mask_##n(struct text *text) { text_printf(text, "%x\n", 1u << n); }
PACKAGE(0)
PACKAGE(1)
PACKAGE(2)
PACKAGE(3)
PACKAGE(4)
PACKAGE(5)
PACKAGE(6)
PACKAGE(7)

static const struct package {
	void (*number)(struct text *);
	void (*mask)(struct text *);
} packages[BOARD_CPUS] = {
	{ show_number_0, show_mask_0 }, { show_number_1, show_mask_1 }, { show_number_2, show_mask_2 },
	{ show_number_3, show_mask_3 }, { show_number_4, show_mask_4 }, { show_number_5, show_mask_5 },
	{ show_number_6, show_mask_6 }, { show_number_7, show_mask_7 },
};

static const char *const topology_sets[] = { "core_cpus", "core_siblings", "package_cpus", "thread_siblings" };

/* A node keeps the name, so it is never freed. */
static void topology_file(u32 number, const char *name, const char *ending, void (*show)(struct text *))
{
	size_t size = sizeof(CPU_DIRECTORY "topology/") + 8 + strlen(name) + strlen(ending);
	char *path = kmalloc(size);

	if (!path)
		panic("/sys: no memory");
	snprintf(path, size, CPU_DIRECTORY "cpu%u/topology/%s%s", number, name, ending);
	proc_file_below(&sys_root_node, path, show, NULL);
}

static struct filesystem *sysfs_new(const char *source)
{
	return proc_filesystem_new("sysfs", source, SYSFS_MAGIC, &sys_root_node);
}

void sysfs_init(void)
{
	filesystem_register("sysfs", sysfs_new);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "online", all_list, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "possible", all_list, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "present", all_list, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "offline", show_none, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "isolated", show_none, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "kernel_max", show_highest_cpu, NULL);
	for_each_cpu(cpu) {
		u32 index = cpu_index(cpu);

		for (size_t i = 0; i < ARRAY_SIZE(topology_sets); i++) {
			topology_file(index, topology_sets[i], "", packages[index].mask);
			topology_file(index, topology_sets[i], "_list", packages[index].number);
		}
		topology_file(index, "physical_package_id", "", packages[index].number);
		topology_file(index, "core_id", "", show_zero);
	}
}
