/*
 * vsid: how a context's number becomes VSIDs.
 *
 * pid: 16 * number + segment, like numbering by process: neighbouring processes, and equal addresses in them, fall
 * into few groups of the hash table. scatter:<multiplier>: the number times an odd constant, segments 0x111 apart, so
 * that their low four bits still differ and no two contexts share a VSID.
 * Forms: arch/vsid.h, context.c.
 */
#include <arch/mmu.h>
#include <arch/vsid.h>
#include <errno.h>
#include <policy.h>

#define SCATTER_STEP 0x111

static u64 contexts_scattered;

/*
 * The inverse modulo 2^20, as many bits as a VSID has of the product, by Newton's iteration: each round doubles the
 * correct bits. An odd number is its own inverse in the lowest three, so that three rounds make 24 bits correct.
 */
static u32 inverse_of_odd(u32 odd)
{
	u32 x = odd;

	for (int bits = 3; bits < 20; bits *= 2)
		x *= 2 - odd * x;
	return x;
}

static int vsid_apply(const struct policy_setting *to)
{
	if (to->choice && to->value % 2 == 0)
		return -EINVAL;
	if (to->choice && !backend->segments)
		return -ENODEV;
	vsid_form.multiplier = to->choice ? to->value : 1;
	vsid_form.inverse = inverse_of_odd(vsid_form.multiplier);
	vsid_form.step = to->choice ? SCATTER_STEP : 1;
	vsid_form.given = to->choice ? &contexts_scattered : &contexts_plain;
	return 0;
}

POLICY(vsid, "vsid", CHOICES("pid", "scatter:<multiplier>"), POLICY_QUIESCED, vsid_apply, "contexts_scattered",
       &contexts_scattered);
