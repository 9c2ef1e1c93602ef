/*
 * idle.reclaim: whether the idle task clears zombies, the hash-table entries whose VSIDs belong to no address space
 * any more.
 *
 * off: it does not. The table fills with them, and an insertion replaces the next entry in turn, which may be a live
 * one. zombies: the idle task walks the table and clears entries of contexts that have ended. colour: contexts are
 * numbered in colours. When a colour is used up, its remaining address spaces get numbers of the next one, and the
 * idle task clears every entry of the old colour without checking its owner (as Plan 9 does).
 */
#include <arch.h>
#include <arch/hash.h>
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <control.h>
#include <cpu.h>
#include <errno.h>
#include <policy.h>
#include <sched.h>
#include <smp.h>

#define PIECE 64u               /* entries that one call checks: some hundred cycles in which no task runs */
#define COLOUR 256u             /* contexts of one colour */

static u64 entries_reclaimed;
static u32 sweep_position;      /* the next entry to check; 0: no round has begun */
static u32 round_below;         /* this round clears numbers below it; later ones may be in use */
static u64 round_generation;    /* of the numbers of this round */
static u64 retired_before;      /* contexts_retired when the last round began */

/* zombies: made when a round begins; contexts that end later wait for the next round. */
static struct context_survey round_survey;

static bool of_zombie(u32 number)
{
	return context_ended(&round_survey, number);
}

static bool begin_zombies(void)
{
	u32 msr;

	if (contexts_retired == retired_before)
		return false;
	msr = irq_save();
	retired_before = contexts_retired;
	round_below = context_next();
	contexts_survey(&round_survey);
	irq_restore(msr);
	return true;
}

/* colour: no address space is left in the colours before the current one. */
static bool of_colour(u32 number)
{
	(void)number;
	return true;
}

static void leave_colour(struct mm *mm)
{
	if (!context_live(mm) || mm->context.number >= round_below)
		return;
	if (mm == this_cpu()->mm || cpus_using(mm)) {
		mm->flush_reason = SHOOTDOWN_RECLAIM;
		context_renew(mm);
	} else {
		context_forget(mm);
	}
}

static bool begin_colour(void)
{
	static u32 swept;
	u32 start = context_next() / COLOUR * COLOUR, msr;

	if (start == swept)
		return false;
	swept = start;
	msr = irq_save();
	round_below = start;
	mm_for_each(leave_colour);
	irq_restore(msr);
	return true;
}

static const struct reclaim {
	bool (*begin)(void);            /* true: start a round */
	bool (*goes)(u32 number);
} reclaim_zombies = { begin_zombies, of_zombie }, reclaim_colour = { begin_colour, of_colour };

static const struct reclaim *reclaim_form;

/* Later numbers may be in use. */
static bool entry_goes(u32 number)
{
	return number < round_below && reclaim_form->goes(number);
}

static bool reclaim_work(void)
{
	if (round_generation != context_generations) {
		round_generation = context_generations;
		sweep_position = 0;
	}
	if (sweep_position == 0 && !reclaim_form->begin())
		return false;
	control_cause(CONTROL_CAUSE_RECLAIM);
	/*
	 * An interrupt may put a kernel entry into the slot of a zombie after the sweep has read that slot. The sweep
	 * then removes the kernel entry, which is no harm: the table is only a cache. TLB copies of a zombie match
	 * nothing.
	 */
	entries_reclaimed += backend->hash->sweep(sweep_position, PIECE, entry_goes);
	control_cause(CONTROL_CAUSE_IDLE);
	sweep_position = (sweep_position + PIECE) % (hash_groups * HPTES_PER_GROUP);
	return true;
}

static int idle_reclaim_apply(const struct policy_setting *to)
{
	static struct idle_hook hook = { .work = reclaim_work };

	if (to->choice && !backend->hash)
		return -ENODEV;
	if (reclaim_form)
		idle_hook_remove(&hook);
	reclaim_form = to->choice == 0 ? NULL : to->choice == 1 ? &reclaim_zombies : &reclaim_colour;
	sweep_position = 0;
	if (reclaim_form)
		idle_hook_add(&hook);
	return 0;
}

POLICY(idle_reclaim, "idle.reclaim", CHOICES("off", "zombies", "colour"), POLICY_QUIESCED, idle_reclaim_apply,
       "reclaimed", &entries_reclaimed);
