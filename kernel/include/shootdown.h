/*
 * TLB shootdown: what several processors do so that none keeps a translation that another one has changed (mm/shootdown.c).
 * Policy `shootdown` decides how.
 *
 * The caller holds the kernel lock. It has changed the tree, and has flushed the hash table and its own TLB. When the call
 * returns, no processor uses the old translations, and frames and page tables may be freed. Processors that ran the address
 * space before, and run another one now, flush when they come back to it.
 */
#ifndef SHOOTDOWN_H
#define SHOOTDOWN_H

#include <types.h>

struct mm;
struct root_entry;

/*
 * One request for all, of the forms short and lazy. The processors of `unanswered`, a bit each, flush the pages [start, end)
 * and clear their bit. Everything is as many pages as a TLB has sets.
 */
struct flush_words {
	_Alignas(32) volatile u32 unanswered;
	uaddr_t start, end;
};
extern struct flush_words flush_words;

void shootdown(struct mm *mm, uaddr_t start, uaddr_t end);
/* mm has a new context, so no cached translation matches: others that run it load the context. */
void shootdown_context(struct mm *mm);
/* mm ends: no processor has it loaded any more. */
void shootdown_leave(struct mm *mm);

/* At the processors that are asked: an interrupt, and a look by one that waits with interrupts off. */
void shootdown_interrupt(void);
void shootdown_answer(void);

/* This processor loads mm; true: it must empty its TLB first. */
bool shootdown_enter(struct mm *mm);
/*
 * For the checker: whether this processor still has to flush the address space with this root before it runs it again. Until
 * then its TLB may differ from the tree.
 */
bool shootdown_put_off(const struct root_entry *root);

/* Before entries are moved or freed: others may not load them again while they are flushed (mm/zap.c). */
void range_hide(struct mm *mm, uaddr_t start, uaddr_t end);

#endif
