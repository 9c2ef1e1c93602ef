/* The sets of the 603's reload images, for the processor and for QEMU's. */
#ifndef SOFT6XX_RELOAD_H
#define SOFT6XX_RELOAD_H

#include <arch/image.h>
#include <arch/reload.h>

/*
 * faults: the form of DSI and ISI; form: that of the misses. Misses are counted, and not again when they become a DSI
 * or ISI.
 */
#define SOFT6XX_IMAGES(faults, form)                                                             \
	.images = {                                                                              \
		{ 0x300, &image_dsi_##faults, NULL }, { 0x400, &image_isi_##faults, NULL },      \
		{ 0x1000, &image_miss_instruction_##form, &image_count_soft_instruction },       \
		{ 0x1100, &image_miss_load_##form, &image_count_soft_data },                     \
		{ 0x1200, &image_miss_store_##form, &image_count_soft_data },                    \
	}
#define SOFT6XX_RELOAD(faults, form) { SOFT6XX_IMAGES(faults, form) }
#define SOFT6XX_RELOAD_STRAIGHT(faults, form) { .straight = true, SOFT6XX_IMAGES(faults, form) }

/* backend.c */
struct mm;
void soft6xx_page_flush(struct mm *mm, vaddr_t address);
void soft6xx_flush_all(void);
const struct reload_set *soft6xx_reload(bool assembly);

#endif
