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
DECLARE_IMAGE(image_count_hash_data);
DECLARE_IMAGE(image_count_hash_instruction);
DECLARE_IMAGE(image_count_soft_data);
DECLARE_IMAGE(image_count_soft_instruction);

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

u64 reloads_c, reloads_assembly, reloads_bypass;
u64 misses_instruction[2], misses_data[2], misses_of_kernel_pages;
static bool assembly, counting;
static u64 accounted;           /* misses that reloads_assembly and reloads_bypass know of */

static const struct reload_images *choose(void)
{
	if (!mmu->software_reload)
		return assembly ? &hash32_asm : &hash32_c;
	if (!assembly)
		return &soft6xx_c;
	return soft_lookup == &soft_lookup_bypass ? &soft6xx_bypass[board_is_qemu] : &soft6xx_emulate[board_is_qemu];
}

static void install(u32 vector, const struct image *image, const struct image *count)
{
	if (counting)
		image_install_before(vector, count, image);
	else
		image_install(vector, image);
}

/* A 603's misses are its own exceptions; what comes as DSI and ISI there, another handler has counted. */
static void install_all(void)
{
	const struct reload_images *images = choose();

	if (images->miss_load) {
		image_install(0x300, images->data);
		image_install(0x400, images->instruction);
		install(0x1000, images->miss_instruction, &image_count_soft_instruction);
		install(0x1100, images->miss_load, &image_count_soft_data);
		install(0x1200, images->miss_store, &image_count_soft_data);
	} else {
		install(0x300, images->data, &image_count_hash_data);
		install(0x400, images->instruction, &image_count_hash_instruction);
	}
}

/* The misses since the last look are those of the handlers that were bound since. */
static bool bound_assembly, bound_bypass;

void reload_account(void)
{
	u64 now = misses_instruction[0] + misses_instruction[1] + misses_data[0] + misses_data[1];

	if (bound_assembly)
		reloads_assembly += now - accounted;
	if (bound_bypass)
		reloads_bypass += now - accounted;
	accounted = now;
}

void reload_rebind(void)
{
	reload_account();
	bound_assembly = assembly;
	bound_bypass = mmu->software_reload && soft_lookup == &soft_lookup_bypass;
	install_all();
}

void reload_count(bool on)
{
	counting = on;
	install_all();
}

bool reload_counting(void)
{
	return counting;
}

void reload_count_reset(void)
{
	reload_account();
	misses_instruction[0] = misses_instruction[1] = misses_data[0] = misses_data[1] = accounted = 0;
}

void reload_bind(bool to_assembly)
{
	assembly = to_assembly;
	reload_rebind();
}
