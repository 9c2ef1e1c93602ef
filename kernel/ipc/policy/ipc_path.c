/*
 * ipc.path: how the two calls that send and then receive are made (beyond the 1993 paper; seL4's fast path).
 *
 * general: one way for every message. fast: words to a receiver that waits for them already go a way of their own, which
 * checks that they are such, and changes what has to be changed; the general way is its oracle.
 */
#include <policy.h>
#include <rendezvous.h>

static int ipc_path_apply(const struct policy_setting *to)
{
	rendezvous_path = to->choice ? &rendezvous_path_fast : &rendezvous_path_general;
	return 0;
}

POLICY(ipc_path, "ipc.path", CHOICES("general", "fast"), POLICY_ANY, ipc_path_apply, "fast", &rendezvous_fast);
