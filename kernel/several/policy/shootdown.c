/*
 * shootdown: how the other processors flush translations that one has changed. Each form is a file beside this one.
 *
 * queue: jobs, a page each, in a queue of each processor; all that run the address space are interrupted, and answer
 * when their queue is empty.
 * short: one request for all, a page, a range or everything, that a handler in assembly serves without a frame.
 * lazy: as short, but processors that idle are not interrupted: they flush before they run a program again.
 * generation: each address space numbers its flushes, and nobody waits for those of unmapped pages.
 * broadcast: the hardware's flush of a page reaches all.
 * queue+own: as queue, and each change of an address space is a job of the processor that makes it, too.
 * short+all: as short, and a range above the cutoff is for every processor.
 * Forms: several/shootdown.c, shootdown_queue.c, shootdown_queue_own.c, shootdown_short.c, shootdown_generation.c,
 * shootdown_broadcast.c.
 */
#include <arch.h>
#include <errno.h>
#include <mmu.h>
#include <policy.h>

#include "../shootdown.h"

extern const struct shootdown_form *shootdown_form;
extern u64 shootdowns;
extern u32 shootdown_unreached;     /* processors whose TLB keeps a page that another one flushes */

static int shootdown_apply(const struct policy_setting *to)
{
	static const struct shootdown_form *const forms[] = {
		&shootdown_queue, &shootdown_short, &shootdown_lazy, &shootdown_generation, &shootdown_broadcast,
		&shootdown_queue_own, &shootdown_short_all,
	};

	if (forms[to->choice] == &shootdown_broadcast && !arch_tlb_broadcasts())
		return -ENODEV;
	if (shootdown_form->leave)
		shootdown_form->leave();
	shootdown_form = forms[to->choice];
	shootdown_bind_deferred(shootdown_form == &shootdown_generation);
	shootdown_unreached = arch_tlb_broadcasts() ? 0 : ~0u;
	arch_flush_short(shootdown_form->in_assembly);
	page_installed_tell(shootdown_form->first);
	return 0;
}

POLICY(shootdown, "shootdown", CHOICES("queue", "short", "lazy", "generation", "broadcast", "queue+own", "short+all"),
       POLICY_ANY, shootdown_apply, "shootdowns", &shootdowns);
