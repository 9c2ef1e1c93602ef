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

u32 context_current = 1;
static u32 next_number = CONTEXT_KERNEL + 1;

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
	if (control_features & CONTROL_FEATURE_VSID)
		for (u32 segment = 0; segment < USER_END >> 28; segment++)
			control_vsid_issued(context_vsid(mm, segment << 28));
}

/* On wrap, renumber the active mm first: its VSIDs are still loaded. */
NOINLINE static void take_number(struct mm *mm)
{
	if (next_number >= context_limit) {
		begin_generation();
		if (this_cpu()->mm && this_cpu()->mm != mm) {
			give_number(this_cpu()->mm);
			backend->load_context(this_cpu()->mm);
		}
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
