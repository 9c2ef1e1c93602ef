/* nice, scheduling policies, affinity. */
#include <abi/sched.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <process.h>
#include <sched.h>
#include <smp.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "../task/internal.h"

#define RT_PRIORITY_MAX 99

static bool may_change(const struct task *task)
{
	return capable() || current->cred.euid == task->cred.uid || current->cred.euid == task->cred.euid;
}

static long set_nice(struct task *task, s32 nice)
{
	nice = MAX(-20, MIN(19, nice));
	if (!may_change(task))
		return -EPERM;
	if (nice < task->nice && !capable())
		return -EACCES;
	task->nice = nice;
	sched_requeue(task);
	return 0;
}

long sys_nice(int increment)
{
	long error = set_nice(current, current->nice + MAX(-40, MIN(40, increment)));

	return error == -EACCES ? -EPERM : error;
}

/* Calls visit for each task that (which, who) names; false: a bad `which`. */
static bool for_each_named(int which, s32 who, void (*visit)(struct task *, void *), void *argument)
{
	struct process *process;
	struct task *task;

	switch (which) {
	case PRIO_PROCESS:
		task = who ? task_find(who) : current;
		if (task)
			visit(task, argument);
		return true;
	case PRIO_PGRP:
		list_for_each_window(process, &process_list, all) {
			if (process->pgid == (who ? who : current->process->pgid))
				visit(process->leader, argument);
		}
		return true;
	case PRIO_USER:
		list_for_each_window(process, &process_list, all) {
			if (process->leader->cred.uid == (who ? (u32)who : current->cred.uid))
				visit(process->leader, argument);
		}
		return true;
	default:
		return false;
	}
}

struct nice_change {
	s32 nice;
	long result;
};

static void priority_change_one(struct task *task, void *argument)
{
	struct nice_change *change = argument;
	long error = set_nice(task, change->nice);

	if (change->result == -ESRCH || error)
		change->result = error;
}

long sys_setpriority(int which, s32 who, int nice)
{
	struct nice_change change = { .nice = nice, .result = -ESRCH };

	return for_each_named(which, who, priority_change_one, &change) ? change.result : -EINVAL;
}

/* The ABI returns 20 - nice, from 1 to 40, so that no result looks like an errno. */
static void priority_read_one(struct task *task, void *argument)
{
	long *best = argument;

	*best = MAX(*best, 20L - task->nice);
}

long sys_getpriority(int which, s32 who)
{
	long best = -ESRCH;

	return for_each_named(which, who, priority_read_one, &best) ? best : -EINVAL;
}

static long check_io_priority(u32 priority)
{
	if (priority > 0xffff)
		return -EINVAL;
	switch (IOPRIO_CLASS(priority)) {
	case IOPRIO_REAL_TIME:
		return capable() ? 0 : -EPERM;
	case IOPRIO_BEST_EFFORT:
	case IOPRIO_IDLE:
		return 0;
	case IOPRIO_NONE:
		return priority ? -EINVAL : 0;
	}
	return -EINVAL;
}

struct io_priority_change {
	u32 priority;
	long result;
};

static void change_io_priority(struct task *task, void *argument)
{
	struct io_priority_change *change = argument;

	if (!may_change(task)) {
		change->result = -EPERM;
		return;
	}
	task->io_priority = (u16)change->priority;
	if (change->result == -ESRCH)
		change->result = 0;
}

long sys_ioprio_set(int which, s32 who, int priority)
{
	struct io_priority_change change = { .priority = (u32)priority, .result = -ESRCH };
	long error = check_io_priority(change.priority);

	if (error)
		return error;
	if (which < IOPRIO_WHO_PROCESS || which > IOPRIO_WHO_USER)
		return -EINVAL;
	return for_each_named(which - IOPRIO_WHO_PROCESS, who, change_io_priority, &change) ? change.result : -EINVAL;
}

/*
 * The highest I/O priority of several tasks: the lowest class, then the lowest level. No class counts as best effort,
 * middle level.
 */
static void read_io_priority(struct task *task, void *argument)
{
	long *best = argument, own = task->io_priority ? task->io_priority : IOPRIO_BEST_EFFORT << 13 | 4;

	*best = *best == -ESRCH ? own : MIN(*best, own);
}

long sys_ioprio_get(int which, s32 who)
{
	long best = -ESRCH;

	if (which < IOPRIO_WHO_PROCESS || which > IOPRIO_WHO_USER)
		return -EINVAL;
	if (which == IOPRIO_WHO_PROCESS) {
		struct task *task = who ? task_find(who) : current;

		return task ? task->io_priority : -ESRCH;
	}
	return for_each_named(which - IOPRIO_WHO_PROCESS, who, read_io_priority, &best) ? best : -EINVAL;
}

static struct task *task_named(s32 pid, long *error)
{
	struct task *task = pid ? task_find(pid) : current;

	*error = pid < 0 ? -EINVAL : task ? 0 : -ESRCH;
	return task;
}

static bool policy_is_real_time(u32 policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

/* The values that sched_setattr sets; the older calls set some of them. */
struct schedule {
	u32 policy;             /* SCHED_* */
	s32 priority, nice;
	bool reset_on_fork;
};

static long check_schedule(const struct task *task, const struct schedule *new)
{
	bool real_time = policy_is_real_time(new->policy);

	if (!real_time && new->policy != SCHED_NORMAL && new->policy != SCHED_BATCH && new->policy != SCHED_IDLE)
		return -EINVAL;
	if (real_time ? new->priority < 1 || new->priority > RT_PRIORITY_MAX : new->priority != 0)
		return -EINVAL;
	if (capable())
		return 0;
	if (!may_change(task) || real_time || new->nice < task->nice)
		return -EPERM;
	/* The flag can be set but not cleared without privilege. */
	return task->reset_on_fork && !new->reset_on_fork ? -EPERM : 0;
}

static void apply_schedule(struct task *task, const struct schedule *new)
{
	task->policy = new->policy;
	task->rt_priority = (u32)new->priority;
	task->nice = new->nice;
	task->reset_on_fork = new->reset_on_fork;
	futex_pi_inherit(task);
	sched_requeue(task);
}

/* Sets policy and priority. A policy of all ones keeps the task's policy. */
static long set_policy(s32 pid, u32 policy, const s32 *param)
{
	struct schedule new;
	struct task *task;
	s32 priority;
	long error;

	if (!param || pid < 0)
		return -EINVAL;
	if (get_user(priority, param))
		return -EFAULT;
	task = task_named(pid, &error);
	if (error)
		return error;
	new = (struct schedule){ task->policy, priority, task->nice, task->reset_on_fork };
	if (policy != ~0u) {
		new.policy = policy & ~SCHED_RESET_ON_FORK;
		new.reset_on_fork = policy & SCHED_RESET_ON_FORK;
	}
	error = check_schedule(task, &new);
	if (!error)
		apply_schedule(task, &new);
	return error;
}

long sys_sched_setscheduler(s32 pid, int policy, const s32 *param)
{
	return policy < 0 ? -EINVAL : set_policy(pid, (u32)policy, param);
}

long sys_sched_setparam(s32 pid, const s32 *param)
{
	return set_policy(pid, ~0u, param);
}

/* Reads struct sched_attr. A longer one is accepted if its extra bytes are zero. */
static long attr_from_user(struct sched_attr *attr, struct sched_attr *user)
{
	u32 size;

	if (get_user(size, &user->size))
		return -EFAULT;
	if (!size)
		size = SCHED_ATTR_SIZE_FIRST;
	*attr = (struct sched_attr){ 0 };
	if (size < SCHED_ATTR_SIZE_FIRST || size > PAGE_SIZE)
		return put_user(SCHED_ATTR_SIZE, &user->size) ? -EFAULT : -E2BIG;
	for (u32 at = SCHED_ATTR_SIZE; at < size; at++) {
		u8 byte;

		if (get_user(byte, (u8 *)user + at))
			return -EFAULT;
		if (byte)
			return put_user(SCHED_ATTR_SIZE, &user->size) ? -EFAULT : -E2BIG;
	}
	if (copy_from_user(attr, user, MIN(size, SCHED_ATTR_SIZE)))
		return -EFAULT;
	return attr->flags & SCHED_FLAG_UTIL_CLAMP && size < SCHED_ATTR_SIZE ? -EINVAL : 0;
}

long sys_sched_setattr(s32 pid, struct sched_attr *user, u32 flags)
{
	struct sched_attr attr;
	struct schedule new;
	struct task *task;
	long error;

	if (!user || pid < 0 || flags)
		return -EINVAL;
	error = attr_from_user(&attr, user);
	if (error)
		return error;
	if ((s32)attr.policy < 0)
		return -EINVAL;
	task = task_named(pid, &error);
	if (error)
		return error;
	if (attr.flags & ~(u64)SCHED_FLAGS)
		return -EINVAL;
	new = (struct schedule){ attr.policy, (s32)attr.priority, task->nice, attr.flags & SCHED_FLAG_RESET_ON_FORK };
	if (attr.flags & SCHED_FLAG_KEEP_POLICY) {
		new.policy = task->policy;
		new.reset_on_fork = task->reset_on_fork;
	}
	if (attr.flags & SCHED_FLAG_KEEP_PARAMS) {
		if (policy_is_real_time(task->policy))
			new.priority = (s32)task->rt_priority;
	} else if (!policy_is_real_time(new.policy)) {
		new.nice = MAX(-20, MIN(19, attr.nice));
	}
	error = check_schedule(task, &new);
	if (error)
		return error;
	if (attr.flags & SCHED_FLAG_UTIL_CLAMP)
		return -EOPNOTSUPP;
	/* To keep the parameters is to keep the policy, too, which gives them their meaning. */
	if (attr.flags & SCHED_FLAG_KEEP_PARAMS)
		new.policy = task->policy;
	apply_schedule(task, &new);
	return 0;
}

long sys_sched_getattr(s32 pid, struct sched_attr *user, u32 size, u32 flags)
{
	struct sched_attr attr = { .size = MIN(size, SCHED_ATTR_SIZE) };
	const struct task *task;
	long error;

	if (!user || pid < 0 || size < SCHED_ATTR_SIZE_FIRST || size > PAGE_SIZE || flags)
		return -EINVAL;
	task = task_named(pid, &error);
	if (error)
		return error;
	attr.policy = task->policy;
	attr.flags = task->reset_on_fork ? SCHED_FLAG_RESET_ON_FORK : 0;
	if (policy_is_real_time(task->policy))
		attr.priority = task->rt_priority;
	else
		attr.nice = task->nice;
	return copy_to_user(user, &attr, attr.size);
}

long sys_sched_getscheduler(s32 pid)
{
	long error;
	struct task *task = task_named(pid, &error);

	return error ? error : (long)(task->policy | (task->reset_on_fork ? SCHED_RESET_ON_FORK : 0));
}

long sys_sched_getparam(s32 pid, s32 *param)
{
	long error;
	struct task *task = task_named(pid, &error);

	if (!param)
		return -EINVAL;
	return error ? error : put_user((s32)task->rt_priority, param);
}

long sys_sched_yield(void)
{
	yield();
	return 0;
}

long sys_sched_get_priority_max(int policy)
{
	if (policy < 0)
		return -EINVAL;
	if (policy_is_real_time((u32)policy))
		return RT_PRIORITY_MAX;
	return policy == SCHED_NORMAL || policy == SCHED_BATCH || policy == SCHED_IDLE ? 0 : -EINVAL;
}

long sys_sched_get_priority_min(int policy)
{
	if (policy < 0)
		return -EINVAL;
	if (policy_is_real_time((u32)policy))
		return 1;
	return policy == SCHED_NORMAL || policy == SCHED_BATCH || policy == SCHED_IDLE ? 0 : -EINVAL;
}

static long round_robin_interval(s32 pid, u64 *ns)
{
	long error;
	struct task *task = task_named(pid, &error);

	if (!error)
		*ns = task->policy == SCHED_FIFO ? 0 : (u64)sched_slice(task) * NSEC_PER_TICK;
	return error;
}

long sys_sched_rr_get_interval_by(s32 pid, void *user, bool time64)
{
	u64 ns = 0;
	long error = round_robin_interval(pid, &ns);

	return error ? error : time_to_user(user, time64, ns);
}

long sys_sched_setaffinity(s32 pid, size_t size, const u32 *mask)
{
	struct task *task;
	u32 word;

	if (size < sizeof(word))
		return -EINVAL;
	if (get_user(word, mask))
		return -EFAULT;
	task = pid ? task_find(pid) : current;
	if (!task)
		return -ESRCH;
	if (!may_change(task))
		return -EPERM;
	word &= (1u << cpu_count) - 1;
	if (!word)
		return -EINVAL;
	sched_set_affinity(task, word);
	return 0;
}

long sys_sched_getaffinity(s32 pid, size_t size, u32 *mask)
{
	const struct task *task = pid ? task_find(pid) : current;

	if (size < sizeof(u32) || size % sizeof(u32))
		return -EINVAL;
	if (!task)
		return -ESRCH;
	return put_user(task->affinity & ((1u << cpu_count) - 1), mask) ? -EFAULT : (long)sizeof(u32);
}

long sys_getcpu(u32 *cpu, u32 *node, uaddr_t cache)
{
	(void)cache;
	if ((cpu && put_user(cpu_index(this_cpu()), cpu)) || (node && put_user(0u, node)))
		return -EFAULT;
	return 0;
}

/*
 * A switch between threads is a barrier, and other processors are made to run one. Private barriers must be registered
 * first.
 */
static void order_memory(void *argument)
{
	(void)argument;
	arch_memory_barrier();
}

long sys_membarrier(int command, u32 flags, int cpu)
{
	(void)cpu;
	if (flags)
		return -EINVAL;
	switch (command) {
	case MEMBARRIER_QUERY:
		return MEMBARRIER_ALL;
	case MEMBARRIER_GLOBAL:
	case MEMBARRIER_GLOBAL_EXPEDITED:
		cpus_call(cpus_others(), order_memory, NULL);
		return 0;
	case MEMBARRIER_REGISTER_GLOBAL_EXPEDITED:
		return 0;
	case MEMBARRIER_REGISTER_PRIVATE_EXPEDITED:
		current->process->private_barriers = true;
		return 0;
	case MEMBARRIER_PRIVATE_EXPEDITED:
		if (!current->process->private_barriers)
			return -EPERM;
		cpus_call(cpus_others(), order_memory, NULL);
		return 0;
	}
	return -EINVAL;
}
