/* Which images serve a missing translation: by processor, policy reload, policy htab, and board. */
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/reload.h>
#include <arch/soft6xx.h>
#include <lib.h>

#include "internal.h"

DECLARE_IMAGE(image_dsi_c);
DECLARE_IMAGE(image_isi_c);
DECLARE_IMAGE(image_dsi_soft);
DECLARE_IMAGE(image_isi_soft);
DECLARE_IMAGE(image_miss_instruction_c);
DECLARE_IMAGE(image_miss_load_c);
DECLARE_IMAGE(image_miss_store_c);

u64 reloads_c;
static bool assembly;

static void bind_hash32(void)
{
	image_install(0x300, &image_dsi_c);
	image_install(0x400, &image_isi_c);
}

static void bind_soft6xx(void)
{
	image_install(0x300, &image_dsi_soft);
	image_install(0x400, &image_isi_soft);
	image_install(0x1000, &image_miss_instruction_c);
	image_install(0x1100, &image_miss_load_c);
	image_install(0x1200, &image_miss_store_c);
}

void reload_rebind(void)
{
	if (mmu->software_reload)
		bind_soft6xx();
	else
		bind_hash32();
}

void reload_bind(bool to_assembly)
{
	assembly = to_assembly;
	reload_rebind();
}
