/*
 * Contexts: the numbers that hardware knows address spaces by. A number is
 * never given out twice while an entry that carries it may live: when the
 * numbers run out, everything cached is flushed and a new generation begins.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

#include <mm.h>
#include <types.h>

struct root_entry;

#define CONTEXT_NUMBERS (1u << 20)      /* 24-bit VSIDs, 16 segments */
#define CONTEXT_KERNEL  0u
#define CONTEXTS_LEAST  4u              /* the kernel's, two at once, and one more */

extern u32 context_limit;               /* numbers below this are given out: boot word contexts=<n> */

/* How a context's number becomes VSIDs: policy `vsid` binds these. */
struct vsid_form {
	u32 multiplier;                 /* VSID of segment s: (16 * number * multiplier + s * step) mod 2^24 */
	u32 step;
	u64 *given;                     /* counts the numbers that are given out in this form */
	u32 inverse;                    /* multiplier * inverse = 1 mod 2^20: from a VSID back to its number */
};
extern struct vsid_form vsid_form;

static inline u32 context_segment_base(u32 number) { return (16 * number * vsid_form.multiplier) & 0xffffff; }
static inline u32 context_vsid(const struct mm *mm, vaddr_t address)
{
	return (mm->context.segment_base + (address >> 28) * vsid_form.step) & 0xffffff;
}

#define VSID_SEGMENT 0xfu               /* segments are 1 mod 16 apart: a VSID's low four bits are its segment's number */

static inline u32 context_number(u32 vsid)
{
	u32 base = vsid - (vsid & VSID_SEGMENT) * vsid_form.step;

	return (base >> 4) * vsid_form.inverse % CONTEXT_NUMBERS;
}

/* A fresh number for mm; its old VSIDs, if it had some, are zombies from now on. */
void context_renew(struct mm *mm);
/* Takes mm's number away. */
void context_forget(struct mm *mm);
extern u32 context_current;             /* the generation that numbers are of */
/* mm has a number of this generation: entries of it may be cached. */
static inline bool context_live(const struct mm *mm) { return mm->context.generation == context_current; }
/* mm has a number of this generation from now on. */
void context_ensure(struct mm *mm);
/* Boot: the kernel's own context, when the translation caches are empty. */
void context_start(void);
/* A new generation: every cached translation is flushed, every address space gets a new number when it next runs. */
void context_restart(void);
/* The root of the tree that translates a VSID now, and the segment; NULL: nobody's. For the checker and /proc. */
const struct root_entry *context_find(u32 vsid, u32 *segment);

/* The number that will be given out next: those from it on have no entries yet. */
u32 context_next(void);

/* Every address space, for the checker. */
void context_register(struct mm *mm);
void context_unregister(struct mm *mm);
void context_for_each(void (*function)(struct mm *mm));

/* contexts_retired: numbers that were in use and are nobody's any more; what carries them is a zombie. */
extern u64 contexts_renewed, contexts_retired, context_generations;

#endif
