/* System V semaphores. */
#include <abi/sysv.h>
#include <abi/sysv_status.h>
#include <arch.h>
#include <err.h>
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
	s64 changed, operated;
	struct waitq wq;
	struct list_head undos;		/* struct undo */
	u32 busy;			/* callers that sleep in it */
	bool removed;
	struct sem sem[];
};

/* What a process gives back when it ends: one set's adjustments. */
struct undo {
	struct list_head of_set, of_task;
	struct set *set;
	s16 adjust[];
};

struct undo_list {
	u32 refs;			/* threads that share it (CLONE_SYSVSEM): the last one's end applies it */
	struct list_head undos;
};

static struct sysv_table sets = { .max = SYSV_SLOTS_MAX };

static struct set *find_set(int id)
{
	return sysv_find(&sets, id);
}

static void drop_undos(struct set *s)
{
	struct undo *u, *next;

	list_for_each_entry_safe(u, next, &s->undos, of_set) {
		list_del(&u->of_set);
		list_del(&u->of_task);
		kfree(u);
	}
}

static void remove_set(struct set *s)
{
	sysv_remove(&sets, &s->perm);
	drop_undos(s);
	s->removed = true;
	wake_up(&s->wq);
	if (!s->busy)
		kfree(s);
}

long sys_semget(s32 key, int count, u32 flags)
{
	struct sysv_perm *found;
	struct set *s;
	long id;

	if (count < 0 || (u32)count > SYSV_PER_SET_MAX)
		return -EINVAL;
	id = sysv_get(&sets, key, flags, &found);
	if (id != -ENOENT) {
		if (id >= 0 && (u32)count > container_of(found, struct set, perm)->count)
			return -EINVAL;
		return id;
	}
	if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return -ENOENT;
	if (count == 0)
		return -EINVAL;
	/* Sets outlive who made them: they leave memory for the programs. */
	s = frames_short() ? NULL : kmalloc(sizeof *s + (u32)count * sizeof s->sem[0]);
	if (!s)
		return -ENOMEM;
	memset(s, 0, sizeof *s);
	for (u32 i = 0; i < (u32)count; i++) {
		interrupt_window_at(i);
		s->sem[i] = (struct sem){ 0 };
	}
	s->count = (u32)count;
	s->changed = (s64)time_real_seconds();
	waitq_init(&s->wq);
	list_init(&s->undos);
	id = sysv_add(&sets, &s->perm, key, flags);
	if (id < 0)
		kfree(s);
	return id;
}

static bool may_adjust(s32 adjustment)
{
	return adjustment >= -VALUE_MAX - 1 && adjustment <= VALUE_MAX;
}

static void apply(struct set *s, const struct sembuf *op, struct undo *undo, s32 sign)
{
	s->sem[op->number].value += sign * op->change;
	if (op->flags & SEM_UNDO)
		undo->adjust[op->number] = (s16)(undo->adjust[op->number] - sign * op->change);
}

/*
 * Applies all operations, or none: 0; or the index of the one that cannot be,
 * plus one; or a negative errno. *undone: an operation has SEM_UNDO.
 */
static long try_operations(struct set *s, const struct sembuf *op, u32 count, struct undo *undo)
{
	long stopped = 0;
	u32 i;

	for (i = 0; i < count && !stopped; i++) {
		struct sem *m = &s->sem[op[i].number];
		s32 value = m->value + op[i].change;

		if (op[i].change == 0 && m->value)
			stopped = (long)i + 1;
		else if (value < 0)
			stopped = (long)i + 1;
		else if (value > VALUE_MAX)
			stopped = -ERANGE;
		else if (op[i].flags & SEM_UNDO && !may_adjust(undo->adjust[op[i].number] - op[i].change))
			stopped = -ERANGE;
		else
			apply(s, &op[i], undo, 1);
	}
	if (!stopped)
		return 0;
	for (i--; i--;)		/* the operation that stopped changed nothing */
		apply(s, &op[i], undo, -1);
	return stopped;
}

static struct undo *find_undo(struct undo_list *list, const struct set *s)
{
	struct undo *u;

	u32 looked_at = 0;

	list_for_each_entry(u, &list->undos, of_task) {
		interrupt_window_at(++looked_at);
		if (u->set == s)
			return u;
	}
	return NULL;
}

static struct undo_list *own_undos(void)
{
	struct undo_list *list = current->sem_undo;

	if (!list) {
		list = kmalloc(sizeof *list);
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

static struct undo *get_undo(struct set *s)
{
	struct undo_list *list = own_undos();
	struct undo *u;

	if (!list)
		return NULL;
	u = find_undo(list, s);
	if (u)
		return u;
	/* They do not count for the process when one must go for want of memory. */
	u = frames_short() ? NULL : kzalloc(sizeof *u + s->count * sizeof u->adjust[0]);
	if (u) {
		u->set = s;
		list_add(&u->of_set, &s->undos);
		list_add(&u->of_task, &list->undos);
	}
	return u;
}

static void applied(struct set *s, const struct sembuf *op, u32 count)
{
	for (u32 i = 0; i < count; i++)
		s->sem[op[i].number].last_pid = current->tgid;
	s->operated = (s64)time_real_seconds();
	wake_up(&s->wq);
}

/* Sleeps until the set changes; counts the caller as a waiter on the semaphore that stopped it. */
static long wait_for_change(struct set *s, const struct sembuf *op, const struct sembuf *all, u32 count, struct undo *undo,
			    u64 deadline)
{
	struct sem *m = &s->sem[op->number];
	u32 *waiting = op->change ? &m->waiting_more : &m->waiting_zero;
	struct waiter w;
	long result, tried = 0;

	++*waiting;
	s->busy++;
	waiter_init(&w);
	waitq_add(&s->wq, &w);
	do {
		w.woken = false;
		result = sleep_interruptible(&w.woken, deadline);
		if (s->removed || result)
			break;
		tried = try_operations(s, all, count, undo);
	} while (tried == op - all + 1);
	waitq_remove(&w);
	s->busy--;
	--*waiting;
	if (s->removed) {
		if (!s->busy)
			kfree(s);
		return -EIDRM;
	}
	if (result)
		return result == -ETIMEDOUT ? -EAGAIN : -EINTR;
	return tried;
}

static long operate(struct set *s, const struct sembuf *op, u32 count, u64 deadline)
{
	struct undo *undo = NULL;
	bool change = false, with_undo = false;
	long stopped;

	for (u32 i = 0; i < count; i++) {
		if (op[i].number >= s->count)
			return -EFBIG;
		change |= op[i].change != 0;
		with_undo |= op[i].flags & SEM_UNDO;
	}
	if (!sysv_may(&s->perm, change ? SYSV_WRITE : SYSV_READ))
		return -EACCES;
	if (with_undo) {
		undo = get_undo(s);
		if (!undo)
			return -ENOMEM;
	}
	stopped = try_operations(s, op, count, undo);
	while (stopped > 0) {
		if (op[stopped - 1].flags & IPC_NOWAIT)
			return -EAGAIN;
		stopped = wait_for_change(s, &op[stopped - 1], op, count, undo, deadline);
	}
	if (stopped == 0)
		applied(s, op, count);
	return stopped;
}

long sem_operations(int id, const struct sembuf *user, u32 count, u64 deadline)
{
	struct sembuf few[8], *op = few;
	struct set *s;
	long result;

	if (count == 0)
		return -EINVAL;
	if (count > SYSV_OPERATIONS_MAX)
		return -E2BIG;
	if (count > ARRAY_SIZE(few)) {
		op = kmalloc(count * sizeof *op);
		if (!op)
			return -ENOMEM;
	}
	if (copy_from_user(op, user, count * sizeof *op)) {
		result = -EFAULT;
	} else {
		s = find_set(id);
		result = s ? operate(s, op, count, deadline) : -EINVAL;
	}
	if (op != few)
		kfree(op);
	return result;
}

long sys_semtimedop_time64(int id, const struct sembuf *operations, u32 count, const struct timespec64 *timeout)
{
	u64 deadline = TIME_NEVER, ns;

	if (timeout) {
		int error = timespec64_from_user(timeout, &ns);

		if (error)
			return error;
		deadline = time_deadline(ns);
	}
	return sem_operations(id, operations, count, deadline);
}

void sem_exit(struct task *task)
{
	struct undo_list *list = task->sem_undo;
	struct undo *u, *next;

	task->sem_undo = NULL;
	if (!list || --list->refs)
		return;
	list_for_each_entry_safe(u, next, &list->undos, of_task) {
		struct set *s = u->set;

		for (u32 i = 0; i < s->count; i++) {
			s32 value = s->sem[i].value + u->adjust[i];

			interrupt_window_at(i);
			if (u->adjust[i]) {
				s->sem[i].value = MIN(MAX(value, 0), VALUE_MAX);
				s->sem[i].last_pid = task->tgid;
			}
		}
		wake_up(&s->wq);
		list_del(&u->of_set);
		list_del(&u->of_task);
		kfree(u);
	}
	kfree(list);
}

static void forget_undos(struct set *s, u32 number)
{
	struct undo *u;
	u32 looked_at = 0;

	list_for_each_entry(u, &s->undos, of_set) {
		interrupt_window_at(++looked_at);
		u->adjust[number] = 0;
	}
}

#define PIECE 2048u	/* values that are copied between two windows */

/* A copy may sleep, and the set be removed meanwhile: it is found again by its number after one, or not used. */
static long set_all(struct set *s, const u16 *user)
{
	int id = (int)s->perm.id;
	u32 count = s->count;
	u16 *values = kmalloc(count * sizeof *values);
	long result = 0;

	if (!values)
		return -ENOMEM;
	for (u32 i = 0; !result && i < count; i += PIECE) {
		interrupt_window();
		if (copy_from_user(values + i, user + i, MIN(PIECE, count - i) * sizeof *values))
			result = -EFAULT;
	}
	for (u32 i = 0; !result && i < count; i++) {
		interrupt_window_at(i);
		if (values[i] > VALUE_MAX)
			result = -ERANGE;
	}
	if (!result) {
		s = find_set(id);
		result = s && s->count == count ? 0 : -EIDRM;
	}
	for (u32 i = 0; !result && i < count; i++) {
		interrupt_window_at(i);
		s->sem[i].value = values[i];
		s->sem[i].last_pid = current->tgid;
		forget_undos(s, i);
	}
	if (!result) {
		s->changed = (s64)time_real_seconds();
		wake_up(&s->wq);
	}
	kfree(values);
	return result;
}

static long get_all(const struct set *s, u16 *user)
{
	u32 count = s->count;
	u16 *values = kmalloc(count * sizeof *values);
	long result = 0;

	if (!values)
		return -ENOMEM;
	for (u32 i = 0; i < count; i++) {
		interrupt_window_at(i);
		values[i] = (u16)s->sem[i].value;
	}
	for (u32 i = 0; !result && i < count; i += PIECE) {
		interrupt_window();
		if (copy_to_user(user + i, values + i, MIN(PIECE, count - i) * sizeof *values))
			result = -EFAULT;
	}
	kfree(values);
	return result;
}

static long sem_give_status(const struct set *s, uaddr_t user)
{
	struct semid_ds ds;

	memset(&ds, 0, sizeof ds);
	sysv_perm_to_abi(&s->perm, &ds.perm);
	ds.otime = (u32)s->operated;
	ds.ctime = (u32)s->changed;
	ds.count = s->count;
	return copy_to_user((void *)user, &ds, sizeof ds);
}

static long sem_set_status(int id, uaddr_t user)
{
	struct semid_ds ds;
	struct set *s;

	if (copy_from_user(&ds, (void *)user, sizeof ds))
		return -EFAULT;
	s = find_set(id);
	if (!s)
		return -EINVAL;
	if (!sysv_owns(&s->perm))
		return -EPERM;
	sysv_perm_set(&s->perm, &ds.perm);
	s->changed = (s64)time_real_seconds();
	return 0;
}

static long whole_set(struct set *s, int command, uaddr_t argument)
{
	switch (command) {
	case IPC_STAT:
		return sysv_may(&s->perm, SYSV_READ) ? sem_give_status(s, argument) : -EACCES;
	case GETALL:
		return sysv_may(&s->perm, SYSV_READ) ? get_all(s, (u16 *)argument) : -EACCES;
	case SETALL:
		if (!sysv_may(&s->perm, SYSV_WRITE))
			return -EACCES;
		return set_all(s, (const u16 *)argument);
	case IPC_SET:
		return sem_set_status((int)s->perm.id, argument);
	case IPC_RMID:
		if (!sysv_owns(&s->perm))
			return -EPERM;
		remove_set(s);
		return 0;
	}
	return -EINVAL;
}

static long one_semaphore(struct set *s, int number, int command, uaddr_t argument)
{
	struct sem *m;

	if (number < 0 || (u32)number >= s->count)
		return -EINVAL;
	m = &s->sem[number];
	if (!sysv_may(&s->perm, command == SETVAL ? SYSV_WRITE : SYSV_READ))
		return -EACCES;
	switch (command) {
	case GETVAL:
		return m->value;
	case GETPID:
		return m->last_pid;
	case GETNCNT:
		return (long)m->waiting_more;
	case GETZCNT:
		return (long)m->waiting_zero;
	}
	if ((s32)argument < 0 || (s32)argument > VALUE_MAX)
		return -ERANGE;
	m->value = (s32)argument;
	m->last_pid = current->tgid;
	forget_undos(s, (u32)number);
	s->changed = (s64)time_real_seconds();
	wake_up(&s->wq);
	return 0;
}

static long sem_give_info(uaddr_t user, bool used)
{
	struct seminfo info = {
		.sets = SYSV_SLOTS_MAX, .semaphores = (s32)(SYSV_SLOTS_MAX * SYSV_PER_SET_MAX), .undos = (s32)(SYSV_SLOTS_MAX * SYSV_PER_SET_MAX),
		.per_set = SYSV_PER_SET_MAX, .operations = SYSV_OPERATIONS_MAX, .undo_entries = SYSV_OPERATIONS_MAX, .undo_size = 20,
		.value_max = VALUE_MAX, .adjust_max = VALUE_MAX,
	};

	info.map = info.semaphores;
	if (used) {
		info.undo_size = (s32)sets.used;
		info.adjust_max = 0;
		for (u32 i = 0; i < sets.max; i++)
			if (sets.slot[i])
				info.adjust_max += (s32)container_of(sets.slot[i], struct set, perm)->count;
	}
	if (copy_to_user((void *)user, &info, sizeof info))
		return -EFAULT;
	return sysv_highest(&sets);
}

long sys_semctl(int id, int number, int command, uaddr_t argument)
{
	struct set *s;
	long result;

	command &= ~IPC_64;
	if (command == IPC_INFO || command == SEM_INFO)
		return sem_give_info(argument, command == SEM_INFO);
	if (command == SEM_STAT || command == SEM_STAT_ANY) {
		s = sysv_at(&sets, id);
		if (!s)
			return -EINVAL;
		if (command == SEM_STAT && !sysv_may(&s->perm, SYSV_READ))
			return -EACCES;
		id = (int)s->perm.id;	/* the copy may sleep, and the set be removed meanwhile */
		result = sem_give_status(s, argument);
		return result ? result : (long)id;
	}
	s = find_set(id);
	if (!s)
		return -EINVAL;
	switch (command) {
	case GETVAL:
	case GETPID:
	case GETNCNT:
	case GETZCNT:
	case SETVAL:
		return one_semaphore(s, number, command, argument);
	}
	return whole_set(s, command, argument);
}
