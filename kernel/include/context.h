/*
 * Contexts: what hardware knows address spaces by. The architecture gives
 * them out. None is given out twice while an entry that carries it may live:
 * when there are no more, everything cached is flushed, and a new generation
 * of contexts begins.
 */
#ifndef CONTEXT_H
#define CONTEXT_H

#include <arch/context.h>
#include <mm.h>
#include <types.h>

extern u32 context_limit;               /* so many contexts are given out: boot word contexts=<n> */

/* mm has a context of this generation: entries of it may be cached. */
static inline bool context_live(const struct mm *mm) { return mm_context_live(&mm->context); }
/* A fresh context for mm; what carries its old one matches nothing from now on. */
void context_renew(struct mm *mm);
/* Takes mm's context away. */
void context_forget(struct mm *mm);
/* A new generation: every cached translation is flushed, every address space gets a new context when it next runs. */
void context_restart(void);

/* contexts_retired: contexts that were in use and are nobody's any more; what carries them is a zombie. */
extern u64 contexts_renewed, contexts_retired, context_generations;

#endif
