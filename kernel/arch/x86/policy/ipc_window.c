/*
 * ipc.window: when the TLB is emptied for a mapping of another space (Liedtke 1993, 5.2.4).
 *
 * flush: at its begin and at its end. noted: at its begin, if there was another since the last switch of address space.
 * Forms: aperture.c.
 */
#include <policy.h>

#include "../internal.h"

static int ipc_window_apply(const struct policy_setting *to)
{
	window_noted = to->choice == 1;
	return 0;
}

POLICY(ipc_window, "ipc.window", CHOICES("flush", "noted"), POLICY_QUIESCED, ipc_window_apply, "clean", &windows_clean);
