/*
 * Contexts: the numbers by which hardware tells address spaces apart. The architecture allocates them. A number is
 * never reused while a cached entry may carry it: when all have been used, everything cached is flushed and a new
 * generation of contexts begins.
 */
#ifndef CONTEXT_H
#define CONTEXT_H
#include <arch/context.h>
#include <mm.h>
#include <types.h>

extern u32 context_limit;               /* contexts in a generation: boot word contexts=<n> */

/* Whether mm has a context of this generation, so that entries of it may be cached. */
static inline bool context_live(const struct mm *mm) { return mm_context_live(&mm->context); }
/*
 * Gives mm a new context; entries of its old one match nothing from now on. Other processors that use mm have loaded it
 * when this returns.
 */
void context_renew(struct mm *mm);
/* Takes mm's context away. */
void context_forget(struct mm *mm);
/*
 * Starts a new generation: flushes every cached translation; each address space gets a new context when it next runs.
 */
void context_restart(void);

/*
 * contexts_retired counts contexts that were in use and no longer belong to an address space; their entries are
 * zombies.
 */
extern u64 contexts_renewed, contexts_retired, context_generations;

#endif
