/*
 * shootdown=short: as OpenBSD does since May 2007 ("Faster TLB shootdown").
 *
 * Three words for all: the processors that have yet to answer, and the first and last address. The initiator has the
 * kernel lock, stores the three, interrupts the targets, and waits. A handler in assembly, which is in
 * arch/ppc/several/external_flush.h and arch/x86/several/entry.S, flushes the pages, and clears its processor's bit. It
 * saves four registers and no frame, calls nothing, and waits for no lock. There is no queue; nothing is allocated.
 *
 * The original has a vector each for a page, a range and everything. Where an architecture has one vector for all
 * external interrupts, the handler asks the controller which one it is, and hands others on. The original counts
 * targets. Here they are the bits of a word, so that a processor that waits for the kernel lock sees without an
 * interrupt that it is one of them. lazy differs in one thing: dozing processors are not interrupted, and empty their
 * TLB when they wake. short+all does what the original did with a range above the cutoff: every processor is asked,
 * whatever it runs (pmap_tlb_shoottlb() of pmap.c, after pmap_remove() or pmap_write_protect() of more than 32 pages).
 */
#include <arch.h>
#include <cpu.h>

#include "../shootdown.h"

struct flush_words flush_words;

static void short_flush(u32 targets, const struct flush_request *request)
{
	u32 level = arch_level_raise(ARCH_LEVEL_MEMORY);

	flush_words.start = request->all ? 0 : request->start;
	flush_words.end = request->all ? ARCH_TLB_REACH : request->end;
	arch_memory_barrier();
	flush_words.unanswered = targets;
	shootdown_send(targets);
	arch_level_set(level);
	while (flush_words.unanswered) {
		cpu_stop_if_panic();
		arch_pause();
	}
	arch_acquired();
}

static void short_answer(void)
{
	u32 bit = 1u << this_cpu()->number;

	if (!(flush_words.unanswered & bit))
		return;
	arch_acquired();
	if (flush_words.start)
		for (uaddr_t page = flush_words.start; page < flush_words.end; page += PAGE_SIZE)
			arch_tlb_flush_page(page);
	else
		arch_tlb_flush_all();
	arch_memory_barrier();
	arch_add((u32 *)&flush_words.unanswered, -bit);
}

static u32 asked_all(u32 targets, const struct flush_request *request)
{
	return request->all ? cpus_others() : targets;
}

const struct shootdown_form shootdown_short = {
	.name = "short",
	.asked = shootdown_all,
	.asked_of_pages = shootdown_asked,
	.flush = short_flush,
	.answer = short_answer,
	.in_assembly = true,
};
const struct shootdown_form shootdown_lazy = {
	.name = "lazy",
	.asked = shootdown_awake,
	.asked_of_pages = shootdown_asked,
	.flush = short_flush,
	.answer = short_answer,
	.in_assembly = true,
};
const struct shootdown_form shootdown_short_all = {
	.name = "short+all",
	.asked = shootdown_all,
	.asked_of_pages = asked_all,
	.flush = short_flush,
	.answer = short_answer,
	.in_assembly = true,
};
