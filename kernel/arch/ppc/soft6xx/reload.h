/* The sets of the 603's reload images, for the processor and for QEMU's. */
#ifndef SOFT6XX_RELOAD_H
#define SOFT6XX_RELOAD_H
#include <arch/image.h>
#include <arch/reload.h>

/*
 * `faults` is the form of DSI and ISI, `form` the form of the misses. A miss that becomes a DSI or ISI is counted once.
 *
 * Images are installed in this order, and the kernel's own pages may miss in between. The misses of a hash table
 * raise DSI or ISI for an entry that is not there: so the vectors that insert it come before such misses, and go after
 * them.
 */
#define SOFT6XX_FAULTS(faults) { 0x300, &image_dsi_##faults, NULL }, { 0x400, &image_isi_##faults, NULL }
#define SOFT6XX_MISSES(form) SOFT6XX_MISSES_BY(form, form)
/* fetch: the form of the misses of fetches. */
#define SOFT6XX_MISSES_BY(fetch, form)                                                           \
	{ 0x1000, &image_miss_instruction_##fetch, &image_count_soft_instruction },              \
	{ 0x1100, &image_miss_load_##form, &image_count_soft_data },                             \
	{ 0x1200, &image_miss_store_##form, &image_count_soft_data }

#define SOFT6XX_SEARCH(faults, form) { .images = { SOFT6XX_FAULTS(faults), SOFT6XX_MISSES(form) } }
#define SOFT6XX_NO_SEARCH(form, straight_) \
	{ .straight = (straight_), .images = { SOFT6XX_MISSES(form), SOFT6XX_FAULTS(soft) } }

/* backend.c */
struct mm;
void soft6xx_page_flush(struct mm *mm, vaddr_t address);
void soft6xx_kernel_page_flush(vaddr_t address);
void soft6xx_flush_all(void);
const struct reload_set *soft6xx_reload(enum reload_form form);

#endif
