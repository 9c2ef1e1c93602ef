/* Contexts: the numbers by which TLB and hash table tell address spaces apart, and the VSIDs made of them. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <cpu.h>
#include <lib.h>
#include <pagetable.h>
#include <shootdown.h>
#include <smp.h>

u64 contexts_plain;
struct vsid_form vsid_form = { .multiplier = 1, .step = 1, .inverse = 1, .given = &contexts_plain };
u64 contexts_renewed, contexts_retired, context_generations;

u32 context_limit = CONTEXT_NUMBERS;

/* All processors take their numbers here, because entries of all are in one hash table. */
u32 context_current = 1;
static u32 next_number = CONTEXT_KERNEL + 1;
/* Numbers from next_number up to here are free. 0: none has been given out yet, and context_limit is not final. */
static u32 numbers_end;

static void begin_generation(void)
{
	context_current++;
	context_generations++;
	next_number = CONTEXT_KERNEL + 1;
	numbers_end = context_limit;
	mmu->flush_all();
}

static void give_number(struct mm *mm)
{
	mm->context.number = next_number++;
	mm->context.generation = context_current;
	mm->context.segment_base = context_segment_base(mm->context.number);
	(*vsid_form.given)++;
	shootdown_forget(mm);
}

/*
 * A new generation: renumbers each processor's active mm, except the one that gets a number now. The other processors
 * are held, and load their new numbers when they are released.
 */
static void renumber_active(const struct mm *except)
{
	for_each_cpu(cpu) {
		if (!cpu->mm || cpu->mm == except || context_live(cpu->mm))
			continue;
		give_number(cpu->mm);
		if (cpu == this_cpu())
			backend->load_context(cpu->mm);
	}
}

static struct context_survey *current_survey; /* that is being made */

CAUSE(flush) static void survey_add(struct mm *mm)
{
	u32 bit = mm->context.number % CONTEXT_SURVEY;

	if (context_live(mm))
		current_survey->live[bit / 32] |= 1u << bit % 32;
}

CAUSE(flush) void contexts_survey(struct context_survey *to)
{
	current_survey = to;
	memset(to, 0, sizeof(*to));
	mm_for_each(survey_add);
}

CAUSE(flush) bool context_ended(const struct context_survey *by, u32 number)
{
	u32 bit = number % CONTEXT_SURVEY;

	return !(by->live[bit / 32] & 1u << bit % 32);
}

bool context_find_none(u32 *start, u32 *end)
{
	(void)start;
	(void)end;
	return false;
}

bool (*context_find_free)(u32 *start, u32 *end) = context_find_none;

NOINLINE static void numbers_refill(struct mm *mm)
{
	if (!numbers_end || context_find_free(&next_number, &numbers_end)) {
		numbers_end = numbers_end ? numbers_end : context_limit;
		give_number(mm);
		return;
	}
	cpus_hold();
	begin_generation();
	renumber_active(mm);
	give_number(mm);
	cpus_release();
}

NOINLINE static void take_number(struct mm *mm)
{
	if (next_number >= numbers_end)
		numbers_refill(mm);
	else
		give_number(mm);
}

CAUSE(flush) static inline void number_renew(struct mm *mm)
{
	contexts_renewed++;
	contexts_retired++;
	take_number(mm);
	if (mm == this_cpu()->mm)
		backend->load_context(mm);
}

CAUSE(flush) void context_renew(struct mm *mm)
{
	number_renew(mm);
	shootdown_context(mm);
}

void context_forget(struct mm *mm)
{
	if (context_live(mm))
		contexts_retired++;
	mm->context.generation = 0;
}

u32 context_next(void)
{
	return next_number;
}

void context_start(void)
{
	backend->kernel_context();
	mmu->activate(this_cpu()->mm);
}

void context_restart(void)
{
	cpus_hold();
	begin_generation();
	renumber_active(this_cpu()->mm);
	backend->kernel_context();
	mmu->activate(this_cpu()->mm);
	cpus_release();
}

CAUSE(switch) void context_ensure(struct mm *mm)
{
	if (!context_live(mm))
		take_number(mm);
}

const struct root_entry *context_find(u32 vsid, u32 *segment)
{
	u32 number = context_number(vsid);
	struct mm *mm;

	*segment = vsid & VSID_SEGMENT;
	if (number == CONTEXT_KERNEL && *segment >= USER_END >> 28)
		return kernel_root;
	list_for_each_entry(mm, &mm_list, all)
		if (context_live(mm) && mm->context.number == number && *segment < USER_END >> 28)
			return mm->root;
	return NULL;
}
