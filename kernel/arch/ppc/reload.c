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
DECLARE_IMAGE(image_miss8_instruction_c);
DECLARE_IMAGE(image_miss8_data_c);
DECLARE_IMAGE(image_miss8_instruction_asm);
DECLARE_IMAGE(image_miss8_data_asm);
DECLARE_IMAGE(image_error8_instruction);
DECLARE_IMAGE(image_error8_data);
DECLARE_IMAGE(image_count8_instruction);
DECLARE_IMAGE(image_count8_data);

/* What is at a vector, and what counts before it, if misses come there: what a 603's handlers pass on has been counted. */
struct reload_image {
	u32 vector;             /* 0: the end */
	const struct image *image, *count;
};

#define HASH32(form)                                                                             \
	{                                                                                        \
		{ 0x300, &image_dsi_##form, &image_count_hash_data },                            \
		{ 0x400, &image_isi_##form, &image_count_hash_instruction }, { 0 },              \
	}
#define SOFT6XX(faults, form)                                                                    \
	{                                                                                        \
		{ 0x300, &image_dsi_##faults, NULL }, { 0x400, &image_isi_##faults, NULL },      \
		{ 0x1000, &image_miss_instruction_##form, &image_count_soft_instruction },       \
		{ 0x1100, &image_miss_load_##form, &image_count_soft_data },                     \
		{ 0x1200, &image_miss_store_##form, &image_count_soft_data }, { 0 },             \
	}
#define SOFT8XX(form)                                                                            \
	{                                                                                        \
		{ 0x1100, &image_miss8_instruction_##form, &image_count8_instruction },          \
		{ 0x1200, &image_miss8_data_##form, &image_count8_data },                        \
		{ 0x1300, &image_error8_instruction, NULL }, { 0x1400, &image_error8_data, NULL }, { 0 }, \
	}

static const struct reload_image hash32_c[] = HASH32(c), hash32_asm[] = HASH32(asm);
static const struct reload_image soft6xx_c[] = SOFT6XX(soft, c);
static const struct reload_image soft6xx_bypass[] = SOFT6XX(soft, bypass);
static const struct reload_image soft6xx_bypass_qemu[] = SOFT6XX(soft, bypass_qemu);
/* What an emulated hash table lacks is put in as a 604 does it. */
static const struct reload_image soft6xx_emulate[] = SOFT6XX(asm, emulate);
static const struct reload_image soft6xx_emulate_qemu[] = SOFT6XX(asm, emulate_qemu);
static const struct reload_image soft8xx_c[] = SOFT8XX(c), soft8xx_asm[] = SOFT8XX(asm);

u64 reloads_c, reloads_assembly, reloads_bypass;
u64 misses_instruction[2], misses_data[2], misses_of_kernel_pages;
static bool assembly, counting;
static u64 accounted;           /* misses that reloads_assembly and reloads_bypass know of */

static const struct reload_image *choose(void)
{
	if (mmu == &soft8xx_backend)
		return assembly ? soft8xx_asm : soft8xx_c;
	if (!mmu->software_reload)
		return assembly ? hash32_asm : hash32_c;
	if (!assembly)
		return soft6xx_c;
	if (soft_lookup == &soft_lookup_bypass)
		return board_is_qemu ? soft6xx_bypass_qemu : soft6xx_bypass;
	return board_is_qemu ? soft6xx_emulate_qemu : soft6xx_emulate;
}

static void install_all(void)
{
	for (const struct reload_image *at = choose(); at->vector; at++) {
		if (counting && at->count)
			image_install_before(at->vector, at->count, at->image);
		else
			image_install(at->vector, at->image);
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
