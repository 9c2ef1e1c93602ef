/*
 * ipc.path: the path of the two calls that send and then receive (not in the 1993 paper; seL4's fast path).
 *
 * general: one path for every message. fast: a message of words to a waiting receiver takes a shorter path. That path
 * first checks that the case is simple, and gives the same result as the general one. An architecture may have a
 * shorter one still, in front of all C code (arch/message.h). On an x86: fast-apart: that path in another page, and
 * there without one technique of the 1993 paper: fast-load loads the data segment registers (5.5.3), fast-queue keeps
 * all that are ready in the ready queue (5.3.4), for which ready.queue=full is needed. fast-calls takes a send and a
 * receive in place of the two calls that do both (5.2.1), and fast-memory eight bytes in memory in place of words
 * (5.3.6), which it copies through a window; other messages of these two take the path in C.
 * Forms: ipc/rendezvous_fast.c, arch/ppc/gate.S, arch/ppc/message.c, arch/x86/gate.S, arch/x86/message.c, in arch/x86
 * gate_without.S, gate_calls.S, gate_memory.S, gate_path.h; include/message_pairs.h.
 */
#include <arch/message.h>
#include <policy.h>
#include <rendezvous.h>

static int ipc_path_apply(const struct policy_setting *to)
{
	enum { GENERAL, FAST };
	int error = message_choose(to->choice > FAST ? to->choice - FAST : 0);

	if (error)
		return error;
	message_allow(MESSAGE_FAST, to->choice >= FAST);
	if (rendezvous_switch != rendezvous_switch_queue)
		rendezvous_switch = message_switch();
	rendezvous_path = to->choice ? &rendezvous_path_fast : &rendezvous_path_general;
	return 0;
}

POLICY(ipc_path, "ipc.path", CHOICES("general", "fast", "fast-apart", "fast-load", "fast-queue", "fast-calls",
       "fast-memory"), POLICY_ANY, ipc_path_apply, "fast", &rendezvous_fast);
