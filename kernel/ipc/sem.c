/* System V semaphores. */
#include <abi/sysv.h>
#include <abi/sysv_status.h>
#include <arch.h>
#include <frame.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <list.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#include "sysv.h"
#include "sysv_calls.h"

#define VALUE_MAX 32767

struct sem {
	s32 value;
	s32 last_pid;
	u32 waiting_more, waiting_zero;
};

struct set {
	struct sysv_perm perm;
	u32 count;
	s64 operated;
	struct waitq wq;
	struct list_head undos;         /* struct undo */
	u32 busy;                       /* callers that sleep in it */
	u32 resets;                     /* how often SETALL has cleared all adjustments */
	bool removed;
	struct sem sem[];
};

/* The adjustments (SEM_UNDO) to one set that the end of a process applies. */
struct undo {
	struct list_head of_set, of_task;
	struct set *set;
	u32 resets;                     /* the set's `resets` when these began; they are void once it differs */
	s16 adjust[];
};

struct undo_list {
	u32 refs;                       /* threads that share it (CLONE_SYSVSEM): the last one's end applies it */
	struct list_head undos;
};

static struct sysv_table semaphore_sets;

static struct set *sem_find_set(int id)
{
	return sysv_find(&semaphore_sets, id);
}

static void drop_undos(struct set *set)
{
	struct undo *undo, *next;

	list_for_each_window_safe(undo, next, &set->undos, of_set) {
		list_del(&undo->of_set);
		list_del(&undo->of_task);
		kfree(undo);
	}
}

static void set_remove(struct sysv_perm *perm)
{
	struct set *set = container_of(perm, struct set, perm);

	sysv_remove(&semaphore_sets, perm);
	drop_undos(set);
	set->removed = true;
	wake_up(&set->wq);
	if (!set->busy)
		kfree(set);
}

static void set_status(const struct sysv_perm *perm, union sysv_status *status)
{
	const struct set *set = container_of(perm, struct set, perm);

	status->sem.otime = (u32)set->operated;
	status->sem.ctime = (u32)perm->changed;
	status->sem.count = set->count;
}

static struct sysv_table semaphore_sets = {
	.stat = SEM_STAT,
	.stat_any = SEM_STAT_ANY,
	.status_size = sizeof(struct semid_ds),
	.status = set_status,
	.remove = set_remove,
};

long sys_semget(s32 key, int count, u32 flags)
{
	struct sysv_perm *found;
	struct set *set;
	long id;

	if (count < 0 || (u32)count > SYSV_PER_SET_MAX)
		return -EINVAL;
	id = sysv_get(&semaphore_sets, key, flags, &found);
	if (id != -ENOENT) {
		if (id >= 0 && (u32)count > container_of(found, struct set, perm)->count)
			return -EINVAL;
		return id;
	}
	if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return -ENOENT;
	if (count == 0)
		return -EINVAL;
	/*
	 * Sets outlive the process that made them: no new ones while memory is short, so that programs can still run.
	 */
	set = frames_short() ? NULL : kmalloc(sizeof(*set) + (u32)count * sizeof(set->sem[0]));
	if (!set)
		return -ENOMEM;
	memset(set, 0, sizeof(*set));
	for_each_window(i, 0, i < (u32)count) {
		set->sem[i] = (struct sem){ 0 };
	}
	set->count = (u32)count;
	waitq_init(&set->wq);
	list_init(&set->undos);
	id = sysv_add(&semaphore_sets, &set->perm, key, flags);
	if (id < 0)
		kfree(set);
	return id;
}

/* Clears the adjustments if SETALL has voided them. */
static void undo_refresh(struct undo *undo)
{
	const struct set *set = undo->set;

	if (undo->resets == set->resets)
		return;
	undo->resets = set->resets;
	for_each_window(i, 0, i < set->count) {
		undo->adjust[i] = 0;
	}
}

static bool undo_may_adjust(s32 adjustment)
{
	return adjustment >= -VALUE_MAX - 1 && adjustment <= VALUE_MAX;
}

static void sem_apply(struct set *set, const struct sembuf *op, struct undo *undo, s32 sign)
{
	set->sem[op->number].value += sign * op->change;
	if (op->flags & SEM_UNDO)
		undo->adjust[op->number] = (s16)(undo->adjust[op->number] - sign * op->change);
}

/*
 * Applies all operations or none. Returns 0; the index of the operation that
 * must wait, plus one; or a negative errno. `undo` records those with SEM_UNDO.
 */
static long sem_try(struct set *set, const struct sembuf *op, u32 count, struct undo *undo)
{
	long stopped = 0;
	u32 i;

	if (undo)
		undo_refresh(undo);
	for (i = 0; i < count && !stopped; i++) {
		struct sem *sem = &set->sem[op[i].number];
		s32 value = sem->value + op[i].change;

		if (op[i].change == 0 && sem->value)
			stopped = (long)i + 1;
		else if (value < 0)
			stopped = (long)i + 1;
		else if (value > VALUE_MAX)
			stopped = -ERANGE;
		else if (op[i].flags & SEM_UNDO && !undo_may_adjust(undo->adjust[op[i].number] - op[i].change))
			stopped = -ERANGE;
		else
			sem_apply(set, &op[i], undo, 1);
	}
	if (!stopped)
		return 0;
	for (i--; i--;)         /* the operation that stopped changed nothing */
		sem_apply(set, &op[i], undo, -1);
	return stopped;
}

static struct undo *find_undo(struct undo_list *list, const struct set *set)
{
	struct undo *undo;

	list_for_each_window(undo, &list->undos, of_task)
		if (undo->set == set)
			return undo;
	return NULL;
}

static struct undo_list *own_undos(void)
{
	struct undo_list *list = current->sem_undo;

	if (!list) {
		list = kmalloc(sizeof(*list));
		if (!list)
			return NULL;
		list->refs = 1;
		list_init(&list->undos);
		current->sem_undo = list;
	}
	return list;
}

int sem_share_undos(struct task *child)
{
	struct undo_list *list = own_undos();

	if (!list)
		return -ENOMEM;
	list->refs++;
	child->sem_undo = list;
	return 0;
}

static struct undo *get_undo(struct set *set)
{
	struct undo_list *list = own_undos();
	struct undo *undo;

	if (!list)
		return NULL;
	undo = find_undo(list, set);
	if (undo)
		return undo;
	/* The out-of-memory killer does not count them, so create none while memory is short. */
	undo = frames_short() ? NULL : kzalloc(sizeof(*undo) + set->count * sizeof(undo->adjust[0]));
	if (undo) {
		undo->set = set;
		undo->resets = set->resets;
		list_add(&undo->of_set, &set->undos);
		list_add(&undo->of_task, &list->undos);
	}
	return undo;
}

static void sem_applied(struct set *set, const struct sembuf *op, u32 count)
{
	for (u32 i = 0; i < count; i++)
		set->sem[op[i].number].last_pid = current->tgid;
	set->operated = (s64)time_real_seconds();
	wake_up(&set->wq);
}

/* Sleeps until the set changes; counts the caller as a waiter on the semaphore that stopped it. */
static long sem_wait(struct set *set, const struct sembuf *op, const struct sembuf *all, u32 count, struct undo *undo,
		     u64 deadline)
{
	struct sem *sem = &set->sem[op->number];
	u32 *waiting = op->change ? &sem->waiting_more : &sem->waiting_zero;
	struct waiter w;
	long result, tried = 0;

	++*waiting;
	set->busy++;
	waiter_init(&w);
	waitq_add(&set->wq, &w);
	do {
		w.woken = false;
		result = sleep_interruptible(&w.woken, deadline);
		if (set->removed || result)
			break;
		tried = sem_try(set, all, count, undo);
	} while (tried == op - all + 1);
	waitq_remove(&w);
	set->busy--;
	--*waiting;
	if (set->removed) {
		if (!set->busy)
			kfree(set);
		return -EIDRM;
	}
	if (result)
		return result == -ETIMEDOUT ? -EAGAIN : -EINTR;
	return tried;
}

static long sem_operate(struct set *set, const struct sembuf *op, u32 count, u64 deadline)
{
	struct undo *undo = NULL;
	bool change = false, with_undo = false;
	long stopped;

	for (u32 i = 0; i < count; i++) {
		if (op[i].number >= set->count)
			return -EFBIG;
		change |= op[i].change != 0;
		with_undo |= op[i].flags & SEM_UNDO;
	}
	if (!sysv_may(&set->perm, change ? SYSV_WRITE : SYSV_READ))
		return -EACCES;
	if (with_undo) {
		undo = get_undo(set);
		if (!undo)
			return -ENOMEM;
	}
	stopped = sem_try(set, op, count, undo);
	while (stopped > 0) {
		if (op[stopped - 1].flags & IPC_NOWAIT)
			return -EAGAIN;
		stopped = sem_wait(set, &op[stopped - 1], op, count, undo, deadline);
	}
	if (stopped == 0)
		sem_applied(set, op, count);
	return stopped;
}

static long sem_operations(int id, const struct sembuf *user, u32 count, u64 deadline)
{
	struct sembuf few[8], *op = few;
	struct set *set;
	long result;

	if (count == 0)
		return -EINVAL;
	if (count > SYSV_OPERATIONS_MAX)
		return -E2BIG;
	if (count > ARRAY_SIZE(few)) {
		op = kmalloc(count * sizeof(*op));
		if (!op)
			return -ENOMEM;
	}
	if (copy_from_user(op, user, count * sizeof(*op))) {
		result = -EFAULT;
	} else {
		set = sem_find_set(id);
		result = set ? sem_operate(set, op, count, deadline) : -EINVAL;
	}
	if (op != few)
		kfree(op);
	return result;
}

long sys_semtimedop_by(int id, const struct sembuf *operations, u32 count, const void *timeout, bool time64)
{
	u64 deadline = TIME_NEVER, ns;

	if (timeout) {
		int error = time_from_user(timeout, time64, &ns);

		if (error)
			return error;
		deadline = time_deadline(ns);
	}
	return sem_operations(id, operations, count, deadline);
}

void sem_exit(struct task *task)
{
	struct undo_list *list = task->sem_undo;
	struct undo *undo;

	task->sem_undo = NULL;
	if (!list || --list->refs)
		return;
	list_until_empty_meanwhile(undo, &list->undos, of_task) {
		struct set *set = undo->set;

		/* Only semaphores with an adjustment are read: a large set is many times larger than the caches. */
		for_each_window(i, 0, i < set->count && undo->resets == set->resets) {
			if (undo->adjust[i]) {
				s32 value = set->sem[i].value + undo->adjust[i];

				set->sem[i].value = MIN(MAX(value, 0), VALUE_MAX);
				set->sem[i].last_pid = task->tgid;
			}
		}
		wake_up(&set->wq);
		list_del(&undo->of_set);
		list_del(&undo->of_task);
		kfree(undo);
	}
	kfree(list);
}

static void forget_undos(struct set *set, u32 number)
{
	struct undo *undo;

	list_for_each_window(undo, &set->undos, of_set)
		undo->adjust[number] = 0;
}

#define PIECE 2048u     /* values that are copied between two windows */

/* A copy may sleep, and the set may be removed meanwhile: look it up again by its number after each copy. */
static long sem_set_all(struct set *set, const u16 *user)
{
	int id = (int)set->perm.id;
	u32 count = set->count;
	u16 *values = kmalloc(count * sizeof(*values));
	long result = 0;

	if (!values)
		return -ENOMEM;
	for (u32 i = 0; !result && i < count; i += PIECE) {
		preemption_point();
		if (copy_from_user(values + i, user + i, MIN(PIECE, count - i) * sizeof(*values)))
			result = -EFAULT;
	}
	for_each_window(i, 0, !result && i < count) {
		if (values[i] > VALUE_MAX)
			result = -ERANGE;
	}
	/* Nothing has changed yet, so other tasks may run, and one may remove the set. */
	preemption_point();
	if (!result) {
		set = sem_find_set(id);
		result = set && set->count == count ? 0 : -EIDRM;
	}
	for_each_window(i, 0, !result && i < count) {
		set->sem[i].value = values[i];
		set->sem[i].last_pid = current->tgid;
	}
	if (!result) {
		set->resets++;
		set->perm.changed = (s64)time_real_seconds();
		wake_up(&set->wq);
	}
	kfree(values);
	return result;
}

static long sem_get_all(const struct set *set, u16 *user)
{
	u32 count = set->count;
	u16 *values = kmalloc(count * sizeof(*values));
	long result = 0;

	if (!values)
		return -ENOMEM;
	for_each_window(i, 0, i < count) {
		values[i] = (u16)set->sem[i].value;
	}
	for (u32 i = 0; !result && i < count; i += PIECE) {
		interrupt_window();
		if (copy_to_user(user + i, values + i, MIN(PIECE, count - i) * sizeof(*values)))
			result = -EFAULT;
	}
	kfree(values);
	return result;
}

static long one_semaphore(struct set *set, int number, int command, uaddr_t argument)
{
	struct sem *sem;

	if (number < 0 || (u32)number >= set->count)
		return -EINVAL;
	sem = &set->sem[number];
	if (!sysv_may(&set->perm, command == SETVAL ? SYSV_WRITE : SYSV_READ))
		return -EACCES;
	switch (command) {
	case GETVAL:
		return sem->value;
	case GETPID:
		return sem->last_pid;
	case GETNCNT:
		return (long)sem->waiting_more;
	case GETZCNT:
		return (long)sem->waiting_zero;
	}
	if ((s32)argument < 0 || (s32)argument > VALUE_MAX)
		return -ERANGE;
	sem->value = (s32)argument;
	sem->last_pid = current->tgid;
	forget_undos(set, (u32)number);
	set->perm.changed = (s64)time_real_seconds();
	wake_up(&set->wq);
	return 0;
}

static long sem_give_info(uaddr_t user, bool used)
{
	struct seminfo info = {
		.sets = SYSV_SLOTS_MAX, .semaphores = (s32)(SYSV_SLOTS_MAX * SYSV_PER_SET_MAX),
		.undos = (s32)(SYSV_SLOTS_MAX * SYSV_PER_SET_MAX),
		.per_set = SYSV_PER_SET_MAX, .operations = SYSV_OPERATIONS_MAX, .undo_entries = SYSV_OPERATIONS_MAX,
		.undo_size = 20,
		.value_max = VALUE_MAX, .adjust_max = VALUE_MAX,
	};

	info.map = info.semaphores;
	if (used) {
		info.undo_size = (s32)semaphore_sets.used;
		info.adjust_max = 0;
		for (u32 i = 0; i < SYSV_SLOTS_MAX; i++)
			if (semaphore_sets.slot[i])
				info.adjust_max += (s32)container_of(semaphore_sets.slot[i], struct set, perm)->count;
	}
	if (copy_to_user((void *)user, &info, sizeof(info)))
		return -EFAULT;
	return sysv_highest(&semaphore_sets);
}

long sys_semctl(int id, int number, int command, uaddr_t argument)
{
	struct set *set = sem_find_set(id);

	command &= ~IPC_64;
	switch (command) {
	case IPC_INFO:
	case SEM_INFO:
		return sem_give_info(argument, command == SEM_INFO);
	case GETVAL:
	case GETPID:
	case GETNCNT:
	case GETZCNT:
	case SETVAL:
		return set ? one_semaphore(set, number, command, argument) : -EINVAL;
	case GETALL:
		if (!set)
			return -EINVAL;
		return sysv_may(&set->perm, SYSV_READ) ? sem_get_all(set, (u16 *)argument) : -EACCES;
	case SETALL:
		if (!set)
			return -EINVAL;
		return sysv_may(&set->perm, SYSV_WRITE) ? sem_set_all(set, (const u16 *)argument) : -EACCES;
	}
	return sysv_control(&semaphore_sets, id, command, argument);
}
