/*
 * TLB shootdown: what several processors do so that none keeps a translation that another one has changed
 * (several/shootdown.c). Policy `shootdown` decides how.
 *
 * The caller holds the kernel lock. It has changed the tree, and has flushed the hash table and its own TLB. When the
 * call returns, no processor uses the old translations, and frames and page tables may be freed. Processors that ran
 * the address space before, and run another one now, flush when they come back to it.
 *
 * With shootdown=generation a call for unmapped pages returns at once (mm_flushes.unseen is not 0). Then frames go to
 * frame_hold(), and shootdown_reuse() comes before the pages are mapped again.
 */
#ifndef SHOOTDOWN_H
#define SHOOTDOWN_H
#include <flush.h>
#include <types.h>

struct frame;
struct mm;
struct root_entry;

/* Of an address space. */
struct mm_flushes {
	u32 ran_on;                     /* processors whose TLBs may have translations of it, */
	u32 stale_on;                   /* and those that must flush before they load it again */
	/* For policy shootdown=generation. */
	u32 generation;                 /* counts its flushes */
	uaddr_t start, end;             /* the pages of the last one; */
	bool all;                       /* it was for all pages */
	/*
	 * Pages that were unmapped without waiting. Other processors may use old translations of them until each has
	 * made flush number `unseen` (0: there are no such pages).
	 */
	u32 unseen;
	uaddr_t unseen_start, unseen_end;
};

/*
 * One request for all, of the forms short and lazy. The processors of `unanswered`, a bit each, flush the pages [start,
 * end) and clear their bit. To flush everything, a request names pages from 0 on, as many as a TLB has sets.
 */
struct flush_words {
	_Alignas(32) volatile u32 unanswered;
	uaddr_t start, end;
};
extern struct flush_words flush_words;

extern bool shootdown_deferred;         /* shootdown=generation: unmapping does not wait */
/* Whether pages of mm were unmapped that other processors may still use. */
#define shootdown_unseen(mm) ((mm)->flushes.unseen != 0)
void shootdown(struct mm *mm, uaddr_t start, uaddr_t end);
/* The same for pages of the kernel's own: every processor uses them. */
void shootdown_kernel(vaddr_t start, vaddr_t end, enum shootdown_reason why);
/* A page of the kernel's own has been mapped where none was. */
void shootdown_kernel_mapped(vaddr_t page);
/* A fault for the checker: the others are no longer asked, as if tlbie reached them. */
void shootdown_ask_nobody(void);
/*
 * Called before pages [start, end) of mm get new translations. Returns when no processor uses an old one that an
 * earlier shootdown() may have left.
 */
extern void (*shootdown_reuse)(struct mm *mm, uaddr_t start, uaddr_t end);
/*
 * Frames whose translations an unfinished shootdown has removed keep a reference until all processors have flushed.
 * Their number is limited. An allocation that finds no free frame takes them back: false if there were none.
 */
void frame_hold(struct frame *frame);
bool frames_return_held(void);
/* For the checker: calls function for each reference. */
void frames_held_each(void (*function)(const struct frame *frame));
/* mm has a new context, so no cached translation matches: others that run it load the context. */
void shootdown_context(struct mm *mm);
/* mm has a new context: nobody's TLB has anything of it. */
void shootdown_forget(struct mm *mm);
/* mm ends: no processor has it loaded any more. */
void shootdown_leave(struct mm *mm);

/* At the processors that are asked: in the interrupt, or while they wait with interrupts off (cpus_answer()). */
void shootdown_answer(void);

/* What a processor does when it has taken the kernel lock, and before it loads another address space. */
extern void (*shootdown_entered)(void);
/* This processor's TLB is empty. */
void shootdown_emptied(void);
/* This processor loads mm; true: it must empty its TLB first. */
bool shootdown_enter(struct mm *mm);
/*
 * For the checker: whether this processor still has to flush the address space with this root before it runs it again.
 * Until then its TLB may differ from the tree.
 */
bool shootdown_put_off(const struct root_entry *root);

void shootdown_proc_init(void);

/* Before entries are moved or freed: others may not load them again while they are flushed (zap_walk). */
void range_hide(struct mm *mm, uaddr_t start, uaddr_t end);

#endif
