/* Which images serve a missing translation: by processor, policy reload, policy htab, and board. */
#include <arch/image.h>
#include <arch/mmu.h>
#include <arch/reload.h>
#include <arch/soft6xx.h>
#include <lib.h>

#include "internal.h"

DECLARE_IMAGE(image_dsi_c);
DECLARE_IMAGE(image_isi_c);
DECLARE_IMAGE(image_dsi_asm);
DECLARE_IMAGE(image_isi_asm);
DECLARE_IMAGE(image_dsi_soft);
DECLARE_IMAGE(image_isi_soft);
DECLARE_IMAGE(image_miss_instruction_c);
DECLARE_IMAGE(image_miss_load_c);
DECLARE_IMAGE(image_miss_store_c);
DECLARE_IMAGE(image_miss_instruction_bypass);
DECLARE_IMAGE(image_miss_load_bypass);
DECLARE_IMAGE(image_miss_store_bypass);
DECLARE_IMAGE(image_miss_instruction_bypass_qemu);
DECLARE_IMAGE(image_miss_load_bypass_qemu);
DECLARE_IMAGE(image_miss_store_bypass_qemu);
DECLARE_IMAGE(image_miss_instruction_emulate);
DECLARE_IMAGE(image_miss_load_emulate);
DECLARE_IMAGE(image_miss_store_emulate);
DECLARE_IMAGE(image_miss_instruction_emulate_qemu);
DECLARE_IMAGE(image_miss_load_emulate_qemu);
DECLARE_IMAGE(image_miss_store_emulate_qemu);

/* The images of vectors 0x300, 0x400, and on a 603 0x1000, 0x1100, 0x1200. */
struct reload_images {
	const struct image *data, *instruction;
	const struct image *miss_instruction, *miss_load, *miss_store;
};

#define MISSES(form) &image_miss_instruction_##form, &image_miss_load_##form, &image_miss_store_##form

static const struct reload_images hash32_c = { .data = &image_dsi_c, .instruction = &image_isi_c };
static const struct reload_images hash32_asm = { .data = &image_dsi_asm, .instruction = &image_isi_asm };
static const struct reload_images soft6xx_c = { &image_dsi_soft, &image_isi_soft, MISSES(c) };
/* Indexed by board_is_qemu. What an emulated hash table lacks is put in as a 604 does it. */
static const struct reload_images soft6xx_emulate[2] = {
	{ &image_dsi_asm, &image_isi_asm, MISSES(emulate) },
	{ &image_dsi_asm, &image_isi_asm, MISSES(emulate_qemu) },
};
static const struct reload_images soft6xx_bypass[2] = {
	{ &image_dsi_soft, &image_isi_soft, MISSES(bypass) },
	{ &image_dsi_soft, &image_isi_soft, MISSES(bypass_qemu) },
};

u64 reloads_c;
static bool assembly;

static const struct reload_images *choose(void)
{
	if (!mmu->software_reload)
		return assembly ? &hash32_asm : &hash32_c;
	if (!assembly)
		return &soft6xx_c;
	return soft_lookup == &soft_lookup_bypass ? &soft6xx_bypass[board_is_qemu] : &soft6xx_emulate[board_is_qemu];
}

void reload_rebind(void)
{
	const struct reload_images *images = choose();

	image_install(0x300, images->data);
	image_install(0x400, images->instruction);
	if (images->miss_load) {
		image_install(0x1000, images->miss_instruction);
		image_install(0x1100, images->miss_load);
		image_install(0x1200, images->miss_store);
	}
}

void reload_bind(bool to_assembly)
{
	assembly = to_assembly;
	reload_rebind();
}
