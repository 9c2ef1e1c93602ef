/*
 * entry: which registers an exception saves.
 *
 * full: every register; C dispatches system calls. lean: only the registers that C does not preserve; a system call
 * goes from its vector directly to its function, and the other registers are saved when a signal or fork needs them.
 * Forms: entry.S, vectors.S, entry_bind.c, dispatch.c.
 */
#include <arch/entry.h>
#include <policy.h>

static int entry_apply(const struct policy_setting *to)
{
	entry_bind(to->choice == 1);
	return 0;
}

POLICY(entry, "entry", CHOICES("full", "lean"), POLICY_ANY, entry_apply, "frames_completed", &lean_frames_completed);
