/*
 * segments: what entries and exits do with the data segment registers (Liedtke 1993, 5.5.3).
 *
 * load: each entry loads the kernel's segment, each exit the program's, nine cycles a register on an i486. check: both
 * compare with the one segment that nearly all programs use, which the kernel uses too, and load if it is another.
 * Forms: entry.S, descriptors.c.
 */
#include <policy.h>

#include "../internal.h"

static u64 segments_checked;    /* times that the checking form was bound */

static int segments_apply(const struct policy_setting *to)
{
	entry_bind_checked(to->choice == 1);
	segments_checked += to->choice;
	return 0;
}

POLICY(segments, "segments", CHOICES("load", "check"), POLICY_ANY, segments_apply, "bound", &segments_checked);
