/*
 * return.flush: whether the caches are flushed at each return to a program.
 *
 * caches: data and instruction cache (cache_flush.S), so that a program never fetches what the kernel has just changed
 * in the data cache only. Linux/PPC did so until 1.3.99 (arch/ppc/kernel/head.S, RETURN_FROM_INT); 2.0.4 has it
 * commented out. none: pages are made visible to fetch where they change.
 * Forms: cache_flush.S, entry.S.
 */
#include <arch/caches.h>
#include <arch/image.h>
#include <arch/message.h>
#include <errno.h>
#include <lib.h>
#include <policy.h>
#include <smp.h>

u64 returns_flushed;            /* counted by cache_flush.S, the low word */

/* entry.S, cache_flush.S */
extern u32 return_full_last[], return_lean_last[], return_syscall_cleared_last[], return_syscall_lean_last[];
extern const u32 flush_at_return_full[], flush_at_return_lean[], flush_at_return_syscall_cleared[],
		 flush_at_return_syscall_lean[];

static int return_flush_apply(const struct policy_setting *to)
{
	static struct {
		u32 *place;
		const u32 *flush;
		u32 plain;
	} exits[] = {
		{ return_full_last, flush_at_return_full, 0 },
		{ return_lean_last, flush_at_return_lean, 0 },
		{ return_syscall_cleared_last, flush_at_return_syscall_cleared, 0 },
		{ return_syscall_lean_last, flush_at_return_syscall_lean, 0 },
	};
	static bool diverted;
	bool flushes = to->choice == 0;
	/* With several processors other code returns to programs (several/entry.S). */
	int error = !flushes ? 0 : SEVERAL ? -EOPNOTSUPP : caches_flush_prepare();

	if (error || flushes == diverted)
		return error;
	diverted = flushes;
	message_allow(MESSAGE_RETURN, !flushes);
	for (unsigned i = 0; i < ARRAY_SIZE(exits); i++) {
		if (!exits[i].plain)
			exits[i].plain = exits[i].place[0];
		code_divert(exits[i].place, flushes ? exits[i].flush : NULL, exits[i].plain);
	}
	return 0;
}

POLICY_BUT(return_flush, "return.flush", CHOICES("caches", "none"), 1, POLICY_ANY, return_flush_apply,
	   "returns_flushed", &returns_flushed);
