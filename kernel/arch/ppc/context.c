#include <arch.h>
#include <arch/mmu.h>
#include <context.h>
#include <control.h>
#include <cpu.h>
#include <frame.h>
#include <lib.h>
#include <pagetable.h>

static u64 contexts_plain;
struct vsid_form vsid_form = { .multiplier = 1, .step = 1, .inverse = 1, .given = &contexts_plain };
u64 contexts_renewed, contexts_retired, context_generations;

u32 context_limit = CONTEXT_NUMBERS;

u32 context_current = 1;
static u32 next_number = CONTEXT_KERNEL + 1;
static struct list_head spaces = LIST_HEAD_INIT(spaces);

void context_register(struct mm *mm)
{
	list_add_tail(&mm->all, &spaces);
}

void context_unregister(struct mm *mm)
{
	list_del(&mm->all);
}

void context_for_each(void (*function)(struct mm *mm))
{
	struct mm *mm;

	list_for_each_entry(mm, &spaces, all)
		function(mm);
}

static void set_root(const struct root_entry *root)
{
	__asm__ volatile("mtspr %0, %1" : : "i"(SPR_SPRG2), "r"(kva_pa(root)) : "memory");
}

/* The processor's registers for what this processor runs. */
static inline void load(void)
{
	struct mm *mm = this_cpu()->mm;

	set_root(mm ? mm->root : kernel_root);
	segments_load(mm ? mm->context.segment_base : context_segment_base(CONTEXT_KERNEL), vsid_form.step);
}

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

/* When the numbers run out, who is in the segment registers gets one at once: nobody else may get those VSIDs. */
NOINLINE static void take_number(struct mm *mm)
{
	if (next_number >= context_limit) {
		begin_generation();
		if (this_cpu()->mm && this_cpu()->mm != mm) {
			give_number(this_cpu()->mm);
			load();
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
		load();
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
	mmu->kernel_context(context_segment_base(CONTEXT_KERNEL), vsid_form.step);
	load();
}

void context_restart(void)
{
	begin_generation();
	mmu->kernel_context(context_segment_base(CONTEXT_KERNEL), vsid_form.step);
	if (this_cpu()->mm)
		give_number(this_cpu()->mm);
	load();
}

CAUSE(switch) void context_ensure(struct mm *mm)
{
	if (!context_live(mm))
		take_number(mm);
}

CAUSE(switch) void mm_activate(struct mm *mm)
{
	if (mm && !context_live(mm))
		take_number(mm);
	this_cpu()->mm = mm;
	load();
}

const struct root_entry *context_find(u32 vsid, u32 *segment)
{
	u32 number = context_number(vsid);
	struct mm *mm;

	*segment = vsid & VSID_SEGMENT;
	if (number == CONTEXT_KERNEL && *segment >= USER_END >> 28)
		return kernel_root;
	list_for_each_entry(mm, &spaces, all)
		if (context_live(mm) && mm->context.number == number && *segment < USER_END >> 28)
			return mm->root;
	return NULL;
}
