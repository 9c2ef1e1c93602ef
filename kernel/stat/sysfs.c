/* /sys: only the files that list the processors (sysfs-devices-system-cpu). */
#include "proc_internal.h"

#include <cpu.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>

#define CPU_DIRECTORY "devices/system/cpu/"

static struct proc_node sys_root_node = {
	.link = LIST_HEAD_INIT(sys_root_node.link),
	.children = LIST_HEAD_INIT(sys_root_node.children),
	.name = "",
	.ino = 1,
	.directory = true,
};

/* All processors are possible, present, online, and in one package. */
static void all_list(struct text *text)
{
	if (cpu_count == 1)
		text_puts(text, "0\n");
	else
		text_printf(text, "0-%u\n", cpu_count - 1);
}

static void all_mask(struct text *text)
{
	text_printf(text, "%x\n", (1u << cpu_count) - 1);
}

static void show_none(struct text *text)
{
	text_puts(text, "\n");
}

static void show_highest_cpu(struct text *text)
{
	text_printf(text, "%u\n", cpu_count - 1);
}

static void show_package(struct text *text)
{
	text_puts(text, "0\n");
}

static const struct {
	const char *name;
	void (*show)(struct text *);
} topology_files[] = {
	{ "topology/core_cpus", all_mask },	   { "topology/core_cpus_list", all_list },
	{ "topology/core_siblings", all_mask },	   { "topology/core_siblings_list", all_list },
	{ "topology/package_cpus", all_mask },	   { "topology/package_cpus_list", all_list },
	{ "topology/thread_siblings", all_mask },  { "topology/thread_siblings_list", all_list },
	{ "topology/physical_package_id", show_package }, { "topology/core_id", show_package },
};

/* A node keeps the name, so it is never freed. */
static void processor_file(u32 number, const char *name, void (*show)(struct text *))
{
	size_t size = sizeof(CPU_DIRECTORY) + 8 + strlen(name);
	char *path = kmalloc(size);

	if (!path)
		panic("/sys: no memory");
	snprintf(path, size, CPU_DIRECTORY "cpu%u/%s", number, name);
	proc_file_below(&sys_root_node, path, show, NULL);
}

void sysfs_init(void)
{
	proc_file_below(&sys_root_node, CPU_DIRECTORY "online", all_list, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "possible", all_list, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "present", all_list, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "offline", show_none, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "isolated", show_none, NULL);
	proc_file_below(&sys_root_node, CPU_DIRECTORY "kernel_max", show_highest_cpu, NULL);
	for_each_cpu(cpu)
		for (size_t i = 0; i < ARRAY_SIZE(topology_files); i++)
			processor_file((u32)(cpu - cpus), topology_files[i].name, topology_files[i].show);
}

struct filesystem *sysfs_new(const char *source)
{
	return proc_filesystem_new("sysfs", source, SYSFS_MAGIC, &sys_root_node);
}
