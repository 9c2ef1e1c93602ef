/* /dev/pagewalk: maps the user half of the control device, one page (docs/interfaces.md, section 2). */
#include "devices.h"

#include <control.h>
#include <err.h>
#include <frame.h>

static int pagewalk_open(struct file *f)
{
	(void)f;
	return control_present() ? 0 : -ENXIO;
}

static int pagewalk_mmap(struct file *f, struct file_map *map)
{
	(void)f;
	if (map->offset || map->size > PAGE_SIZE)
		return -ENXIO;
	if (!map->shared)
		return -EINVAL;
	map->kind = MAP_KIND_DEVICE;
	map->device_address = CONTROL_USER_PAGE;
	return 0;
}

const struct file_ops pagewalk_ops = { .open = pagewalk_open, .mmap = pagewalk_mmap };
