/*
 * shootdown=short: as OpenBSD does since May 2007 ("Faster TLB shootdown").
 *
 * Three words for all: the processors that have yet to answer, and the first and last address. The initiator has the
 * kernel lock, stores the three, interrupts the targets, and waits. A handler flushes a page, a range or everything, and clears
 * its processor's bit. There is no queue, no other lock, and nothing is allocated.
 *
 * The original counts targets. Here a word of bits tells a processor that waits for the kernel lock that it is one of them,
 * because it looks without an interrupt. lazy differs in one thing: dozing processors are not interrupted, and empty their TLB
 * when they wake.
 */
#include <arch.h>
#include <cpu.h>

#include "../shootdown.h"

static u32 short_unanswered;
static struct flush_request shared;

static void short_flush(u32 targets, const struct flush_request *request)
{
	shared = *request;
	arch_memory_barrier();
	*(volatile u32 *)&short_unanswered = targets;
	shootdown_send(targets);
	while (*(volatile u32 *)&short_unanswered)
		arch_pause();
	arch_acquired();
}

static void short_answer(void)
{
	u32 bit = 1u << this_cpu()->number;

	if (!(*(volatile u32 *)&short_unanswered & bit))
		return;
	arch_acquired();
	shootdown_do(&shared);
	arch_memory_barrier();
	arch_add(&short_unanswered, -bit);
}

const struct shootdown_form shootdown_short = { shootdown_all, short_flush, short_answer };
const struct shootdown_form shootdown_lazy = { shootdown_awake, short_flush, short_answer };
