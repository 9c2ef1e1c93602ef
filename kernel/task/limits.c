/* Resource limits. */
#include <abi/process.h>
#include <errno.h>
#include <file.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

u32 rlimit(u32 resource)
{
	return current->process->rlimit[resource].soft;
}

/* Gives a new limit to the parts of the kernel that keep a copy of it. */
static void rlimit_apply(struct process *process, u32 resource)
{
	const struct rlimit *limit = &process->rlimit[resource];
	const struct task *task;
	struct mm *mm = NULL;

	if (resource == RLIMIT_CPU && limit->soft != RLIM_INFINITY)
		process->cpu_limits = true;
	/* Look for a thread with an address space: one that is ending, even the leader, has left it. */
	list_for_each_window(task, &process->threads, group_link) {
		mm = task->mm;
		if (mm)
			break;
	}
	if (!mm)
		return;
	if (resource == RLIMIT_STACK)
		mm->program.stack_limit = limit->soft;
	if (resource == RLIMIT_AS)
		mm->program.address_limit = limit->soft;
	if (resource == RLIMIT_DATA)
		mm->program.data_limit = limit->soft;
}

static long set_limit(struct process *process, u32 resource, struct rlimit new)
{
	struct rlimit *limit = &process->rlimit[resource];

	if (new.soft > new.hard)
		return -EINVAL;
	if (new.hard > limit->hard && !capable())
		return -EPERM;
	if (resource == RLIMIT_NOFILE && new.hard > FILES_MAX)
		return -EPERM;
	*limit = new;
	rlimit_apply(process, resource);
	return 0;
}

long sys_ugetrlimit(int resource, struct rlimit *user)
{
	if ((u32)resource >= RLIMIT_COUNT)
		return -EINVAL;
	return copy_to_user(user, &current->process->rlimit[resource], sizeof(*user));
}

/* The old call has no value above 2^31 - 1. */
long sys_getrlimit(int resource, struct rlimit *user)
{
	struct rlimit limit;

	if ((u32)resource >= RLIMIT_COUNT)
		return -EINVAL;
	limit = current->process->rlimit[resource];
	limit.soft = MIN(limit.soft, 0x7fffffffu);
	limit.hard = MIN(limit.hard, 0x7fffffffu);
	return copy_to_user(user, &limit, sizeof(limit));
}

long sys_setrlimit(int resource, const struct rlimit *user)
{
	struct rlimit new;

	if ((u32)resource >= RLIMIT_COUNT)
		return -EINVAL;
	if (copy_from_user(&new, user, sizeof(new)))
		return -EFAULT;
	return set_limit(current->process, (u32)resource, new);
}

static u32 rlimit_narrow(u64 limit)
{
	return limit >= RLIM_INFINITY ? RLIM_INFINITY : (u32)limit;
}

static u64 rlimit_widen(u32 limit)
{
	return limit == RLIM_INFINITY ? ~0ULL : limit;
}

long sys_prlimit64(s32 pid, int resource, const struct rlimit64 *new, struct rlimit64 *old)
{
	struct rlimit64 wide;
	struct task *task;
	struct rlimit was;
	long error;

	if ((u32)resource >= RLIMIT_COUNT)
		return -EINVAL;
	/* Copy first: copying may sleep, and the task may end meanwhile. */
	if (new && copy_from_user(&wide, new, sizeof(wide)))
		return -EFAULT;
	task = pid ? task_find(pid) : current;
	if (!task)
		return -ESRCH;
	if (task->process != current->process && !capable() && !is_same_user(task))
		return -EPERM;
	was = task->process->rlimit[resource];
	if (new) {
		if (wide.soft > wide.hard)
			return -EINVAL;
		error = set_limit(task->process, (u32)resource,
				  (struct rlimit){ rlimit_narrow(wide.soft), rlimit_narrow(wide.hard) });
		if (error)
			return error;
	}
	if (!old)
		return 0;
	wide = (struct rlimit64){ rlimit_widen(was.soft), rlimit_widen(was.hard) };
	return copy_to_user(old, &wide, sizeof(wide));
}
