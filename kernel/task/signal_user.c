/* Siginfo in user memory, and the temporary mask of a call. */
#include <abi/signal.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <task.h>
#include <uaccess.h>

#define INFO_REST (SIGINFO_SIZE - sizeof(struct siginfo))

int siginfo_from_user(struct siginfo *info, const struct siginfo *user)
{
	u32 rest[INFO_REST / sizeof(u32)], any = 0;

	if (copy_from_user(info, user, sizeof(*info)) || copy_from_user(rest, user + 1, sizeof(rest)))
		return -EFAULT;
	for (u32 i = 0; i < ARRAY_SIZE(rest); i++)
		any |= rest[i];
	return any && info->code < SI_DETHREAD && info->code != SI_ASYNCNL ? -E2BIG : 0;
}

int siginfo_to_user(struct siginfo *user, const struct siginfo *info)
{
	return copy_to_user(user, info, sizeof(*info)) || clear_user(user + 1, INFO_REST) ? -EFAULT : 0;
}

int signal_mask_swap(const u32 *user_mask, u32 size)
{
	sigset mask;

	if (!user_mask)
		return 0;
	if (size != SIGSET_SIZE)
		return -EINVAL;
	if (sigset_from_user(&mask, user_mask))
		return -EFAULT;
	current->saved_blocked = current->blocked;
	current->restore_blocked = true;
	signal_set_blocked(mask);
	return 0;
}

void signal_mask_restore(long result)
{
	if (!current->restore_blocked)
		return;
	if (result < 0 && signal_pending())
		return;         /* signal_deliver() restores it once the handler's frame is pushed */
	current->restore_blocked = false;
	signal_set_blocked(current->saved_blocked);
}
