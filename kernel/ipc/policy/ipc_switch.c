/*
 * ipc.switch: which thread runs when a sender waits for the answer (Liedtke 1993, 5.3.5).
 *
 * queue: the receiver enters the ready queue, and the scheduler picks a thread. direct: the processor switches to the
 * receiver at once, unless a thread of higher priority is ready or the receiver's turn is used up.
 * Forms: ipc/rendezvous_switch.c, arch/ppc/message.c, arch/ppc/gate.S, arch/x86/message.c, arch/x86/gate.S.
 */
#include <arch/message.h>
#include <policy.h>
#include <rendezvous.h>

static int ipc_switch_apply(const struct policy_setting *to)
{
	message_allow(MESSAGE_TO_PEER, to->choice == 1);
	rendezvous_switch = to->choice ? message_switch() : rendezvous_switch_queue;
	return 0;
}

POLICY(ipc_switch, "ipc.switch", CHOICES("queue", "direct"), POLICY_ANY, ipc_switch_apply, "direct",
       &rendezvous_direct);
