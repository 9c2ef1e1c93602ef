/* TLB shootdown: whom to ask, and the counts (shootdown.h). */
#include "shootdown.h"

#include <arch.h>
#include <context.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <mmu.h>
#include <procfs.h>
#include <smp.h>
#include <text.h>
#include <time.h>

const struct shootdown_form *shootdown_form = &shootdown_queue;
u32 shootdown_cutoff;
u64 shootdowns;

/* What was asked for, and what it cost. */
enum reason { PAGE, RANGE, ALL, CONTEXT, END, REASONS };
static const char *const names[REASONS] = { "page", "range", "all", "context", "end" };
static struct {
	u32 times, pages, ipis;
	u64 waited;             /* ticks of the timebase */
} counts[REASONS];
static u32 put_off;             /* flushes that a processor makes when it comes back to the address space */
static enum reason reason;      /* of the one that is being made */

void shootdown_send(u32 targets)
{
	counts[reason].ipis += (u32)__builtin_popcount(targets);
	ipi_send(targets, IPI_FLUSH);
}

u32 shootdown_all(u32 targets)
{
	return targets;
}

u32 shootdown_awake(u32 targets)
{
	for_each_cpu(cpu)
		if (targets & 1u << cpu->number && cpu->dozing) {
			cpu->stale = true;
			targets &= ~(1u << cpu->number);
		}
	return targets;
}

void shootdown_do(const struct flush_request *request)
{
	if (request->all)
		arch_tlb_flush_all();
	else
		for (uaddr_t page = request->start; page < request->end; page += PAGE_SIZE)
			arch_tlb_flush_page(page);
}

static void reason_count(enum reason why, u32 pages, u32 since)
{
	counts[why].times++;
	counts[why].pages += pages;
	counts[why].waited += arch_timebase_low() - since;
	shootdowns++;
}

void shootdown(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 using = cpus_using(mm), pages = (end - start) >> PAGE_SHIFT, since = arch_timebase_low();
	struct flush_request request = { mm, start, end, pages > shootdown_cutoff };

	if (!arch_tlb_broadcasts())
		mm->stale_on |= mm->ran_on & ~using & ~(1u << this_cpu()->number);
	using = shootdown_form->asked(using);
	if (!using)
		return;
	reason = request.all ? ALL : pages == 1 ? PAGE : RANGE;
	shootdown_form->flush(using, &request);
	reason_count(reason, pages, since);
}

static void reload_context(void *argument)
{
	(void)argument;
	arch_load_context();
}

void shootdown_context(struct mm *mm)
{
	u32 using = shootdown_form->asked(cpus_using(mm)), since = arch_timebase_low();

	mm->stale_on = 0;
	if (!using)
		return;
	counts[CONTEXT].ipis += (u32)__builtin_popcount(using);
	cpus_call(using, reload_context, NULL);
	reason_count(CONTEXT, 0, since);
}

static void space_leave(void *argument)
{
	(void)argument;
	mmu->activate(NULL);
}

void shootdown_leave(struct mm *mm)
{
	u32 using = cpus_using(mm), since = arch_timebase_low();

	if (!using)
		return;
	counts[END].ipis += (u32)__builtin_popcount(using);
	cpus_call(using, space_leave, NULL);
	reason_count(END, 0, since);
}

void shootdown_interrupt(void)
{
	shootdown_form->answer();
}

void shootdown_answer(void)
{
	shootdown_form->answer();
}

bool shootdown_enter(struct mm *mm)
{
	u32 bit = 1u << this_cpu()->number;
	bool stale = mm->stale_on & bit;

	mm->ran_on |= bit;
	mm->stale_on &= ~bit;
	put_off += stale;
	return stale;
}

bool shootdown_put_off(const struct root_entry *root)
{
	const struct mm *mm;

	list_for_each_entry(mm, &mm_list, all)
		if (mm->root == root)
			return mm->stale_on & 1u << this_cpu()->number;
	return false;
}

static void show_shootdowns(struct text *text)
{
	text_puts(text, "reason       times      pages       ipis    waited_ns\n");
	for (unsigned i = 0; i < REASONS; i++)
		text_printf(text, "%-8s %9u %10u %10u %12llu\n", names[i], counts[i].times, counts[i].pages, counts[i].ipis,
			    time_ticks_to_ns(counts[i].waited));
	text_printf(text, "put_off %u\n", put_off);
}

void shootdown_proc_init(void)
{
	proc_file("mmu/shootdowns", show_shootdowns, NULL);
}
