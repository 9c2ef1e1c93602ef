/* The reload handlers' images, bound to the vectors by the policies reload and htab. */
#ifndef ARCH_RELOAD_H
#define ARCH_RELOAD_H

#include <types.h>

struct image;

/* What serves a missing translation, vector by vector. */
struct reload_set {
	bool straight;                  /* straight from the tree, past a hash table that there is */
	struct {
		u32 vector;             /* 0: no more */
		const struct image *image;
		const struct image *count;      /* stands before it while misses are counted; NULL: none come here */
	} images[6];
};

extern u64 reloads_c;           /* reloads that C has done */

/* The rest counts while reload_count(true) does; [0] in kernel mode, [1] in user mode. */
extern u64 misses_instruction[2], misses_data[2];
extern u64 misses_of_kernel_pages;      /* of addresses of the kernel's */
/* Misses that came while assembly, or a 603 straight from the tree, served them; arch_policies_account() brings them up. */
extern u64 reloads_assembly, reloads_bypass;

void reload_count(bool on);
bool reload_counting(void);
void reload_count_reset(void);  /* the misses' counts */

void reload_bind(bool assembly);
void reload_rebind(void);       /* after htab changed */

#endif
