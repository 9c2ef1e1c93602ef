/*
 * entry: what an exception saves.
 *
 * full: every register, and system calls are dispatched by C. lean: the registers that C does not preserve; a
 * system call goes from its vector straight to its function, and what signals or fork want besides is saved when
 * they want it.
 */
#include <arch/entry.h>
#include <policy.h>

static int entry_apply(const struct policy_setting *to)
{
	entry_bind(to->choice == 1);
	return 0;
}

POLICY(entry, "entry", CHOICES("full", "lean"), POLICY_ANY, entry_apply, "frames_completed", &lean_frames_completed);
