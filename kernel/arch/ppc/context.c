/* Contexts: the numbers by which TLB and hash table tell address spaces apart, and the VSIDs made of them. */
#include <arch.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <control.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <pagetable.h>

u64 contexts_plain;
struct vsid_form vsid_form = { .multiplier = 1, .step = 1, .inverse = 1, .given = &contexts_plain };
u64 contexts_renewed, contexts_retired, context_generations;

u32 context_limit = CONTEXT_NUMBERS;

/* All processors take their numbers here, because entries of all are in one hash table. */
u32 context_current = 1;
static u32 next_number = CONTEXT_KERNEL + 1;

static void tell_nobody(const struct mm *mm)
{
	(void)mm;
}

/* Tells the machine's sanitizer of a new context's VSIDs. */
static void tell_machine(const struct mm *mm)
{
	for (u32 segment = 0; segment < USER_END >> 28; segment++)
		control_vsid_issued(context_vsid(mm, segment << 28));
}

static void (*context_given)(const struct mm *mm) = tell_nobody;

static void begin_generation(void)
{
	context_current++;
	context_generations++;
	next_number = CONTEXT_KERNEL + 1;
	mmu->flush_all();
}

static void give_number(struct mm *mm)
{
	mm->context.number = next_number++;
	mm->context.generation = context_current;
	mm->context.segment_base = context_segment_base(mm->context.number);
	(*vsid_form.given)++;
	context_given(mm);
}

_Static_assert(CPUS == 1, "renumber_active() must interrupt the other processors, so that they load their new numbers");

/* On wrap, renumbers each processor's active mm, except the one that gets a number now: its VSIDs are still loaded. */
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

NOINLINE static void take_number(struct mm *mm)
{
	if (next_number >= context_limit) {
		begin_generation();
		renumber_active(mm);
	}
	give_number(mm);
}

CAUSE(flush) void context_renew(struct mm *mm)
{
	contexts_renewed++;
	contexts_retired++;
	take_number(mm);
	if (mm == this_cpu()->mm)
		backend->load_context(mm);
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
	if (control_features & CONTROL_FEATURE_VSID)
		context_given = tell_machine;
	backend->kernel_context();
	mmu->activate(this_cpu()->mm);
}

void context_restart(void)
{
	begin_generation();
	backend->kernel_context();
	mmu->activate(this_cpu()->mm);
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
