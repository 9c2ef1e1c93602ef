/*
 * context.reuse: what happens when all context numbers have been given out.
 *
 * flush: everything cached is flushed, and every address space gets a new number, as in Linux/PPC 2.2
 * (arch/ppc/mm/init.c, mmu_context_overflow). sweep: zombies are cleared from the hash table, the TLB is flushed, and
 * the numbers of ended contexts are given out again; live address spaces keep their numbers and their entries. OSDI
 * 1999, section 7, considers this form, and prefers the idle task's sweep (idle.reclaim). The sweep takes as long as
 * the table is large, with interrupts off.
 */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <errno.h>
#include <policy.h>
#include <smp.h>

static u64 table_sweeps;        /* sweeps of the whole table */
static struct context_survey last_survey; /* at the last sweep */

CAUSE(flush) static bool has_ended(u32 number)
{
	return context_ended(&last_survey, number);
}

CAUSE(flush) static void zombies_sweep(void)
{
	contexts_survey(&last_survey);
	backend->hash->sweep(0, hash_groups * HPTES_PER_GROUP, has_ended);
	prepared_forget();
	tlb_invalidate_all();
	context_generations++;
	table_sweeps++;
}

/* The numbers from *start on that were free at the last sweep. */
CAUSE(flush) static bool free_run_find(u32 *start, u32 *end)
{
	u32 number = *start;

	while (number < context_limit && !context_ended(&last_survey, number))
		number++;
	*start = number;
	while (number < context_limit && context_ended(&last_survey, number))
		number++;
	*end = number;
	return *start < *end;
}

CAUSE(flush) static bool free_numbers_find(u32 *start, u32 *end)
{
	if (*start < context_limit && free_run_find(start, end))
		return true;
	zombies_sweep();
	*start = CONTEXT_KERNEL + 1;
	return free_run_find(start, end);
}

static int context_reuse_apply(const struct policy_setting *to)
{
	if (to->choice && (!backend->hash || SEVERAL))
		return SEVERAL ? -EOPNOTSUPP : -ENODEV;
	context_find_free = to->choice ? free_numbers_find : context_find_none;
	return 0;
}

POLICY(context_reuse, "context.reuse", CHOICES("flush", "sweep"), POLICY_QUIESCED, context_reuse_apply, "swept",
       &table_sweeps);
