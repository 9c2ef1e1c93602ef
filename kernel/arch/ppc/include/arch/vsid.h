/* Contexts as segment registers and hash table know them: virtual segment identifiers. */
#ifndef ARCH_VSID_H
#define ARCH_VSID_H

#include <arch/reg.h>
#include <context.h>
#include <cpu.h>
#include <mm.h>
#include <pagetable.h>
#include <types.h>

/* How a context's number becomes VSIDs: policy `vsid` binds these. */
struct vsid_form {
	u32 multiplier;                 /* VSID of segment s: (16 * number * multiplier + s * step) mod 2^24 */
	u32 step;
	u64 *given;                     /* counts the numbers that are given out in this form */
	u32 inverse;                    /* multiplier * inverse = 1 mod 2^20: from a VSID back to its number */
};
extern struct vsid_form vsid_form;
extern u64 contexts_plain;              /* numbers given out in the form of vsid=pid */

static inline u32 context_segment_base(u32 number) { return (16 * number * vsid_form.multiplier) & 0xffffff; }
static inline u32 context_vsid(const struct mm *mm, u32 address)
{
	return (mm->context.segment_base + (address >> 28) * vsid_form.step) & 0xffffff;
}

#define VSID_SEGMENT 0xfu               /* segments are 1 mod 16 apart: a VSID's low four bits are its segment's number */

static inline u32 context_number(u32 vsid)
{
	u32 base = vsid - (vsid & VSID_SEGMENT) * vsid_form.step;

	return (base >> 4) * vsid_form.inverse % CONTEXT_NUMBERS;
}

/* mm has a number of this generation from now on. */
void context_ensure(struct mm *mm);
/* The number that will be given out next: those from it on have no entries yet. */
u32 context_next(void);
/* The root of the tree that translates a VSID now, and the segment; NULL: nobody's. For the checker and /proc. */
const struct root_entry *context_find(u32 vsid, u32 *segment);
/* Boot: the kernel's own context, when the translation caches are empty. */
void context_start(void);

/* What mmu->activate() begins with: mm has a number, and is what this processor runs. */
static inline void context_enter(struct mm *mm)
{
	if (mm && !context_live(mm))
		context_ensure(mm);
	this_cpu()->mm = mm;
}

/* Where the reloads find mm's tree. */
static inline void context_root(const struct mm *mm)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_SPRG2), "r"(kva_pa(mm ? mm->root : kernel_root)) : "memory");
}

#endif
