/*
 * ipc.copy: how the memory of a message is copied from sender to receiver (Liedtke 1993, 5.2.3).
 *
 * twice: into a kernel buffer, from which the receiver copies when it runs. window: once, directly between the address
 * spaces, through a window of the active one onto the other (aperture.h). A processor without such a window offers only
 * twice.
 * Forms: ipc/rendezvous_copy.c, arch/ppc/aperture.c, arch/x86/aperture.c.
 */
#include <aperture.h>
#include <errno.h>
#include <policy.h>
#include <rendezvous.h>

static int ipc_copy_apply(const struct policy_setting *to)
{
	int error = to->choice ? aperture_refused() : 0;

	if (error)
		return error;
	rendezvous_copy = to->choice ? &rendezvous_copy_aperture : &rendezvous_copy_twice;
	return 0;
}

POLICY(ipc_copy, "ipc.copy", CHOICES("twice", "window"), POLICY_ANY, ipc_copy_apply, "windows", &rendezvous_apertures);
