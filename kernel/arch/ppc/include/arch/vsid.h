/* Virtual segment identifiers: the form of contexts in segment registers and hash table. */
#ifndef ARCH_VSID_H
#define ARCH_VSID_H
#include <arch/reg.h>
#include <context.h>
#include <cpu.h>
#include <mm.h>
#include <pagetable.h>
#include <types.h>

/* The form of VSIDs; policy `vsid` binds it. */
struct vsid_form {
	u32 multiplier;                 /* VSID of segment s: (16 * number * multiplier + s * step) mod 2^24 */
	u32 step;
	u64 *given;                     /* counts the numbers given out in this form */
	u32 inverse;                    /* multiplier * inverse = 1 mod 2^20: from a VSID back to its number */
};
extern struct vsid_form vsid_form;
extern u64 contexts_plain;              /* numbers given out in the form of vsid=pid */

static inline u32 context_segment_base(u32 number) { return (16 * number * vsid_form.multiplier) & 0xffffff; }
static inline u32 context_vsid(const struct mm *mm, vaddr_t address)
{
	return (mm->context.segment_base + (address >> 28) * vsid_form.step) & 0xffffff;
}

/* Segments are 1 mod 16 apart: a VSID's low four bits are its segment's number. */
#define VSID_SEGMENT 0xfu

static inline u32 context_number(u32 vsid)
{
	u32 base = vsid - (vsid & VSID_SEGMENT) * vsid_form.step;

	return (base >> 4) * vsid_form.inverse % CONTEXT_NUMBERS;
}

/* Gives mm a number of this generation, if it has none. */
void context_ensure(struct mm *mm);
/* The number that will be given out next: it and all above have no entries yet. */
u32 context_next(void);
/*
 * Called when the numbers below *start have been given out: finds the next ones that no entry carries, from *start to
 * below *end. False: there are none, and everything cached is flushed. Policy context.reuse binds it.
 */
extern bool (*context_find_free)(u32 *start, u32 *end);
bool context_find_none(u32 *start, u32 *end);
/* Which numbers address spaces have. Numbers that are CONTEXT_SURVEY apart share a bit. */
#define CONTEXT_SURVEY 16384u
struct context_survey {
	u32 live[CONTEXT_SURVEY / 32];
};
void contexts_survey(struct context_survey *);
/* True: the survey has found no address space with this number. False: one may have had it. */
bool context_ended(const struct context_survey *, u32 number);
/* Finds the root of the tree and the segment of a VSID; NULL: none. For the checker and /proc. */
const struct root_entry *context_find(u32 vsid, u32 *segment);
/* At boot: loads the kernel's own context, when the translation caches are empty. */
void context_start(void);

/* The start of mmu->activate(): gives mm a number and makes it this processor's address space. */
static inline void context_enter(struct mm *mm)
{
	if (mm && !context_live(mm))
		context_ensure(mm);
	this_cpu()->mm = mm;
}

/* Tells the reload handlers mm's tree. */
static inline void context_root(const struct mm *mm)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_SPRG2), "r"(kva_pa(mm ? mm->root : kernel_root)) : "memory");
}

#endif
