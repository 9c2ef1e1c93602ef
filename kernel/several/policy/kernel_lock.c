/*
 * kernel.lock: what of the kernel runs on one processor at a time.
 *
 * big: all of it (smp.h). fine: all but faults that touch only data of the task, or data that nobody changes
 * meanwhile (outside.h); the allocator of frames has a lock of its own. Forms: several/outside.c, several/smp.c.
 */
#include <outside.h>
#include <policy.h>
#include <smp.h>

bool kernel_lock_fine;

static int kernel_lock_apply(const struct policy_setting *to)
{
	kernel_lock_fine = to->choice;
	return 0;
}

POLICY(kernel_lock, "kernel.lock", CHOICES("big", "fine"), POLICY_BOOT, kernel_lock_apply, "faults_outside",
       &faults_outside);
