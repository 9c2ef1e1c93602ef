/* /dev/pagewalk: maps the user half of the control device, one page (docs/interfaces.md, section 2). */
#include <control.h>
#include <err.h>
#include <frame.h>

#include "devices.h"

static int pagewalk_open(struct file *file)
{
	(void)file;
	return control_present() ? 0 : -ENXIO;
}

static int pagewalk_mmap(struct file *file, struct file_map *map)
{
	(void)file;
	if (map->offset || map->size > PAGE_SIZE)
		return -ENXIO;
	if (!map->shared)
		return -EINVAL;
	map->kind = MAP_KIND_DEVICE;
	map->device_address = CONTROL_USER_PAGE;
	return 0;
}

const struct file_ops pagewalk_ops = { .open = pagewalk_open, .mmap = pagewalk_mmap };
