/*
 * entry: how a system call is dispatched.
 *
 * full: all is saved, and C calls the function of the table. lean: assembly does, with the arguments from their
 * registers.
 * Forms: entry.S, descriptors.c.
 */
#include <policy.h>

#include "../internal.h"

static u64 entries_lean;        /* times that the lean form was bound */

static int entry_apply(const struct policy_setting *to)
{
	entry_bind_lean(to->choice == 1);
	entries_lean += to->choice;
	return 0;
}

POLICY(entry, "entry", CHOICES("full", "lean"), POLICY_ANY, entry_apply, "bound", &entries_lean);
