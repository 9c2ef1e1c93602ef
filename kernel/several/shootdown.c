/* TLB shootdown: whom to ask, and the counts (shootdown.h). */
#include <arch.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <mmu.h>
#include <procfs.h>
#include <smp.h>
#include <text.h>
#include <time.h>

#include "../mm/internal.h"
#include "../mm/zap.h"
#include "shootdown.h"

const struct shootdown_form *shootdown_form = &shootdown_queue;
u32 shootdown_cutoff;
u32 shootdown_unreached;
u64 shootdowns;

/* Counts of requests, by reason, processor and form, and the time that they took. */
static const char *const kind_names[SHOOTDOWN_KINDS] = { "page", "range", "all", "context", "end" };
static const char *const reason_names[SHOOTDOWN_REASONS] = {
	"copy", "munmap", "madvise", "mprotect", "mremap", "fork", "exit", "truncate", "reclaim", "pipe",
	"exec", "reuse", "map",
};
static const struct shootdown_form *const all_forms[] = {
	&shootdown_queue, &shootdown_short, &shootdown_lazy, &shootdown_generation, &shootdown_broadcast,
	&shootdown_queue_own, &shootdown_short_all,
};
struct count {
	u32 times, ipis;
	u32 pages;              /* that were flushed one by one */
	u64 waited;             /* ticks of the timebase */
};
static struct count shootdown_counts[ARRAY_SIZE(all_forms)][SHOOTDOWN_REASONS][SHOOTDOWN_KINDS];
static u32 ipis_sent;           /* by the shootdown that is being made */
static u32 shootdowns_kernel;   /* of pages of the kernel's own */
static u32 put_off;             /* flushes that a processor makes when it comes back to the address space */

static void nothing_due(void)
{
}

static void nothing_unseen(struct mm *mm, uaddr_t start, uaddr_t end)
{
	(void)mm;
	(void)start;
	(void)end;
}

bool shootdown_deferred;
void (*shootdown_entered)(void) = nothing_due;
void (*shootdown_reuse)(struct mm *mm, uaddr_t start, uaddr_t end) = nothing_unseen;

void shootdown_send(u32 targets)
{
	ipis_sent += (u32)__builtin_popcount(targets);
	ipi_send(targets, IPI_FLUSH);
}

void shootdown_call(u32 targets, void (*function)(void *argument), void *argument)
{
	ipis_sent += (u32)__builtin_popcount(targets);
	cpus_call(targets, function, argument);
}

u32 shootdown_all(u32 targets)
{
	return targets;
}

u32 shootdown_asked(u32 targets, const struct flush_request *request)
{
	(void)request;
	return shootdown_form->asked(targets);
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

/* Counts a shootdown that began at timebase `since`. */
static void shootdown_count(enum shootdown_reason why, enum shootdown_kind kind, u32 pages, u32 since)
{
	struct count *count;
	u32 form = 0;

	while (all_forms[form] != shootdown_form)
		form++;
	count = &shootdown_counts[form][why][kind];
	count->times++;
	count->pages += pages;
	count->ipis += ipis_sent;
	count->waited += arch_timebase_low() - since;
	shootdowns++;
	ipis_sent = 0;
}

void shootdown(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 using = cpus_using(mm), pages = page_count(end - start), since = arch_timebase_low();
	struct flush_request request = { mm, start, end, pages > shootdown_cutoff, mm->flush_reason };

	mm->flushes.stale_on |= mm->flushes.ran_on & ~using & ~(1u << this_cpu()->number) & shootdown_unreached;
	using = shootdown_form->asked_of_pages(using, &request);
	if (!using)
		return;
	shootdown_form->flush(using, &request);
	if (request.all)
		shootdown_count(request.why, SHOOTDOWN_ALL, 0, since);
	else
		shootdown_count(request.why, pages == 1 ? SHOOTDOWN_PAGE : SHOOTDOWN_RANGE, pages, since);
}

/* A range is never cut off: where the kernel's entries are global, as on an i386, flushing everything keeps them. */
void shootdown_kernel(vaddr_t start, vaddr_t end, enum shootdown_reason why)
{
	u32 others = shootdown_form->asked(cpus_others()), pages = page_count(end - start);
	u32 since = arch_timebase_low();
	struct flush_request request = { NULL, start, end, false, why };

	if (!others || !pages)
		return;
	shootdown_form->flush(others, &request);
	shootdown_count(why, pages == 1 ? SHOOTDOWN_PAGE : SHOOTDOWN_RANGE, pages, since);
	shootdowns_kernel++;
}

void shootdown_kernel_mapped(vaddr_t page)
{
	if (shootdown_form->at_map)
		shootdown_kernel(page, page + PAGE_SIZE, SHOOTDOWN_MAP);
}

void shootdown_ask_nobody(void)
{
	shootdown_form = &shootdown_broadcast;
}

static void reload_context(void *argument)
{
	(void)argument;
	arch_load_context();
}

void shootdown_context(struct mm *mm)
{
	u32 using = shootdown_form->asked(cpus_using(mm)), since = arch_timebase_low();

	mm->flushes.stale_on = 0;
	if (!using)
		return;
	shootdown_call(using, reload_context, NULL);
	shootdown_count(mm->flush_reason, SHOOTDOWN_CONTEXT, 0, since);
}

void shootdown_forget(struct mm *mm)
{
	mm->flushes.ran_on = mm->flushes.stale_on = 0;
	for_each_cpu(cpu)
		if (cpu->mm == mm)
			mm->flushes.ran_on |= 1u << cpu->number;
}

static void space_leave(void *argument)
{
	(void)argument;
	mmu->activate(NULL);
}

void shootdown_leave(struct mm *mm)
{
	u32 using = cpus_using(mm), since = arch_timebase_low();

	shootdown_reuse(mm, 0, USER_END);
	if (!using)
		return;
	shootdown_call(using, space_leave, NULL);
	shootdown_count(mm->flush_reason, SHOOTDOWN_END, 0, since);
}

static void unseen_settle(struct mm *mm, uaddr_t start, uaddr_t end)
{
	u32 since;

	if (!mm->flushes.unseen)
		return;
	if (!generation_passed(mm->flushes.unseen)) {
		if (end <= mm->flushes.unseen_start || start >= mm->flushes.unseen_end)
			return;
		since = arch_timebase_low();
		generation_settle();
		shootdown_count(SHOOTDOWN_REUSE, SHOOTDOWN_ALL, 0, since);
	}
	mm->flushes.unseen = 0;
}

void shootdown_bind_deferred(bool on)
{
	shootdown_deferred = on;
	shootdown_entered = on ? shootdown_form->answer : nothing_due;
	shootdown_reuse = on ? unseen_settle : nothing_unseen;
	faults_bind();
}

void shootdown_emptied(void)
{
	struct cpu *cpu = this_cpu();

	if (cpu->mm)
		cpu->flushes.generation = cpu->mm->flushes.generation;
}

void shootdown_answer(void)
{
	shootdown_form->answer();
}

bool shootdown_enter(struct mm *mm)
{
	u32 bit = 1u << this_cpu()->number;
	bool stale = mm->flushes.stale_on & bit;

	mm->flushes.ran_on |= bit;
	mm->flushes.stale_on &= ~bit;
	put_off += stale;
	this_cpu()->flushes.generation = mm->flushes.generation;
	return stale;
}

bool shootdown_put_off(const struct root_entry *root)
{
	const struct mm *mm;

	list_for_each_entry(mm, &mm_list, all)
		if (mm->root == root)
			return mm->flushes.stale_on & 1u << this_cpu()->number;
	return false;
}

static u32 hide_one(struct mm *mm, uaddr_t address, struct pte *entry, void *argument)
{
	(void)mm;
	(void)address;
	(void)argument;
	pagetable_set(entry, pte_hide(pte_get(entry)));
	return 0;
}

void range_hide(struct mm *mm, uaddr_t start, uaddr_t end)
{
	zap_walk(mm, start, end, hide_one, NULL);
}

static void count_add(struct count *to, const struct count *from)
{
	to->times += from->times;
	to->pages += from->pages;
	to->ipis += from->ipis;
	to->waited += from->waited;
}

static void show_row(struct text *text, const char *name, const struct count *count)
{
	text_printf(text, "%-10s %9u %10u %10u %12llu\n", name, count->times, count->pages, count->ipis,
		    time_ticks_to_ns(count->waited));
}

/* By what they were for. */
static void show_shootdowns(struct text *text)
{
	struct count found[SHOOTDOWN_KINDS] = { 0 };

	for (unsigned form = 0; form < ARRAY_SIZE(all_forms); form++)
		for (unsigned why = 0; why < SHOOTDOWN_REASONS; why++)
			for (unsigned kind = 0; kind < SHOOTDOWN_KINDS; kind++)
				count_add(&found[kind], &shootdown_counts[form][why][kind]);
	text_puts(text, "for            times      pages       ipis    waited_ns\n");
	for (unsigned kind = 0; kind < SHOOTDOWN_KINDS; kind++)
		show_row(text, kind_names[kind], &found[kind]);
	text_printf(text, "put_off %u\ndeferred %u\nkernel %u\nown %llu\n", put_off, shootdowns_deferred,
		    shootdowns_kernel, shootdowns_own());
	frames_held_show(text);
}

/* A row for each reason, summed over forms and kinds. */
static void show_reasons(struct text *text)
{
	text_puts(text, "reason         times      pages       ipis    waited_ns\n");
	for (unsigned why = 0; why < SHOOTDOWN_REASONS; why++) {
		struct count found = { 0 };

		for (unsigned form = 0; form < ARRAY_SIZE(all_forms); form++)
			for (unsigned kind = 0; kind < SHOOTDOWN_KINDS; kind++)
				count_add(&found, &shootdown_counts[form][why][kind]);
		show_row(text, reason_names[why], &found);
	}
}

/* Each combination that occurred. */
static void show_each(struct text *text)
{
	text_puts(text, "form       reason     for          times      pages       ipis    waited_ns\n");
	for (unsigned form = 0; form < ARRAY_SIZE(all_forms); form++)
		for (unsigned why = 0; why < SHOOTDOWN_REASONS; why++)
			for (unsigned kind = 0; kind < SHOOTDOWN_KINDS; kind++)
				if (shootdown_counts[form][why][kind].times) {
					text_printf(text, "%-10s %-10s ", all_forms[form]->name, reason_names[why]);
					show_row(text, kind_names[kind], &shootdown_counts[form][why][kind]);
				}
}

void shootdown_proc_init(void)
{
	proc_file("mmu/shootdowns", show_shootdowns, NULL);
	proc_file("mmu/shootdown_reasons", show_reasons, NULL);
	proc_file("mmu/shootdowns_each", show_each, NULL);
}
