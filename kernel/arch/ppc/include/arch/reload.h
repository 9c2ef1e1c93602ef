/* The reload handlers' images, bound to the vectors by the policies reload and htab. */
#ifndef ARCH_RELOAD_H
#define ARCH_RELOAD_H
#include <types.h>

struct image;

/* Which code reloads the TLB: C alone; assembly, with C for insertions into the hash table; assembly alone. */
enum reload_form { RELOAD_C, RELOAD_C_INSERTS, RELOAD_ASSEMBLY };

/* The images of the reload handlers, by vector. */
struct reload_set {
	bool straight;                  /* reloads directly from the tree, although there is a hash table */
	struct {
		u32 vector;             /* 0: no more */
		const struct image *image;
		const struct image *count;      /* placed before it while counting; NULL: no misses here */
	} images[6];
};

extern u64 reloads_c;           /* reloads by C */

/* Counted while reload_count(true): [0] in kernel mode, [1] in user mode. */
extern u64 misses_instruction[2], misses_data[2];
extern u64 misses_of_kernel_pages;      /* of kernel addresses */
/*
 * Misses served by assembly handlers, and by a 603's handlers directly from the tree; arch_policies_account() updates
 * them.
 */
extern u64 reloads_assembly, reloads_bypass;

/* The tree's entry, which a reload in C inserts; 0: there is none that permits the access. */
u32 reload_entry(vaddr_t address, u32 access);

void reload_count(bool on);
bool reload_counting(void);
void reload_count_reset(void);  /* resets the counts */

void reload_bind(enum reload_form form);
void reload_rebind(void);       /* called after htab changed */

#endif
