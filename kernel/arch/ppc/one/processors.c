/* A PowerPC with one processor: its vector of external interrupts. The board may have more processors. */
#include <arch/entry.h>
#include <arch/image.h>
#include <lib.h>

#include "../internal.h"

DECLARE_IMAGE(image_external);
DECLARE_IMAGE(image_external_preload);

void external_bind(bool preload)
{
	image_install(0x500, preload ? &image_external_preload : &image_external);
}

void processors_look(const void *fdt, bool openpic)
{
	(void)fdt;
	(void)openpic;
	if (processors_described > 1)
		printk("pagewalk: this is the image for one processor, and uses one of %u; vmlinux-smp uses all\n",
		       processors_described);
}
