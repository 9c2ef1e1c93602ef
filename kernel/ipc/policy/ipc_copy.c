/*
 * ipc.copy: how the memory of a message gets from sender to receiver (Liedtke 1993, 5.2.3).
 *
 * twice: into a buffer of the kernel's, which the receiver empties when it runs. window: once, straight from the one
 * address space to the other, of which a segment register shows a segment meanwhile: not on an MPC8xx, which has none.
 */
#include <aperture.h>
#include <errno.h>
#include <policy.h>
#include <rendezvous.h>

static int ipc_copy_apply(const struct policy_setting *to)
{
	if (to->choice && !aperture_possible())
		return -ENODEV;
	rendezvous_copy = to->choice ? &rendezvous_copy_aperture : &rendezvous_copy_twice;
	return 0;
}

POLICY(ipc_copy, "ipc.copy", CHOICES("twice", "window"), POLICY_ANY, ipc_copy_apply, "windows", &rendezvous_apertures);
