/* Advisory locks: POSIX record locks (by process), open-file-description locks, and flock. */
#include "internal.h"

#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <file_lock.h>
#include <task.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define TO_THE_END ((u64)~0ull)

/*
 * One lock. The owner of a record lock is the process's descriptor table, of the
 * other kinds the open file. Ranges include both ends.
 */
struct lock {
	struct list_head link;	/* inode->locks */
	const void *owner;
	bool whole;		/* flock's */
	bool exclusive;
	u64 start, end;
	s32 pid;		/* for F_GETLK; -1 for a description's lock */
};

/* Everyone who waits for any lock: unlocking is rare, and each waiter looks again. */
static struct waitq released = WAITQ_INIT(released);

/* Who waits for whom, to refuse a deadlock of record locks. */
struct blocked {
	struct list_head link;
	const void *owner, *holder;
};
static struct list_head blocked_list = LIST_HEAD_INIT(blocked_list);

static bool overlap(const struct lock *l, u64 start, u64 end)
{
	return l->start <= end && start <= l->end;
}

static bool in_the_way(const struct lock *l, const struct lock *wanted)
{
	return l->whole == wanted->whole && l->owner != wanted->owner && (l->exclusive || wanted->exclusive) &&
	       overlap(l, wanted->start, wanted->end);
}

static struct lock *conflict(struct inode *i, const struct lock *wanted)
{
	struct lock *l;
	u32 looked_at = 0;

	list_for_each_entry(l, &i->locks, link) {
		interrupt_window_at(++looked_at);
		if (in_the_way(l, wanted))
			return l;
	}
	return NULL;
}

static void drop(struct lock *l)
{
	list_del(&l->link);
	kfree(l);
}

/*
 * Clears the owner's locks from the range, cutting those that reach beyond it.
 * `spare` is used when one lock becomes two; it is NULL then.
 */
static void clear_range(struct inode *i, const struct lock *range, struct lock **spare)
{
	struct lock *l, *next;
	u32 looked_at = 0;

	list_for_each_entry_safe(l, next, &i->locks, link) {
		interrupt_window_at(++looked_at);
		if (l->whole != range->whole || l->owner != range->owner || !overlap(l, range->start, range->end))
			continue;
		if (l->start < range->start && l->end > range->end) {
			struct lock *upper = *spare;

			*spare = NULL;
			*upper = *l;
			upper->start = range->end + 1;
			list_add(&upper->link, &l->link);
			l->end = range->start - 1;
			return;
		}
		if (l->start < range->start)
			l->end = range->start - 1;
		else if (l->end > range->end)
			l->start = range->end + 1;
		else
			drop(l);
	}
}

static bool would_deadlock(const void *owner, const void *holder)
{
	struct blocked *b;

	for (unsigned steps = 0; steps < 64; steps++) {
		const void *next = NULL;

		if (holder == owner)
			return true;
		list_for_each_entry(b, &blocked_list, link)
			if (b->owner == holder)
				next = b->holder;
		if (!next)
			return false;
		holder = next;
	}
	return false;
}

/* Sleeps until the lock may be had. */
static long wait_for(struct inode *i, const struct lock *wanted, bool by_process)
{
	struct lock *other;

	while ((other = conflict(i, wanted)) != NULL) {
		struct blocked b = { .owner = wanted->owner, .holder = other->owner };
		long result;

		if (by_process && would_deadlock(wanted->owner, other->owner))
			return -EDEADLK;
		list_add(&b.link, &blocked_list);
		result = wait_event(&released, conflict(i, wanted) != other);
		list_del(&b.link);
		if (result)
			return result;
	}
	return 0;
}

static long set_lock(struct inode *i, const struct lock *wanted, bool unlock, bool wait, bool by_process)
{
	struct lock *fresh = kmalloc(sizeof *fresh), *spare = kmalloc(sizeof *spare);
	long result = 0;

	if (!fresh || !spare) {
		result = -ENOLCK;
	} else if (!unlock) {
		/* A held flock is given up before waiting for its other kind, as flock(2) says. */
		if (wanted->whole && conflict(i, wanted)) {
			clear_range(i, wanted, &spare);
			wake_up(&released);
		}
		if (wait)
			result = wait_for(i, wanted, by_process);
		else if (conflict(i, wanted))
			result = -EAGAIN;
	}
	if (!result) {
		clear_range(i, wanted, &spare);
		if (!unlock) {
			*fresh = *wanted;
			list_add_tail(&fresh->link, &i->locks);
			fresh = NULL;
		}
		wake_up(&released);
	}
	kfree(fresh);
	kfree(spare);
	return result;
}

void locks_release_owner(struct inode *i, const void *owner)
{
	struct lock *l, *next;
	bool any = false;
	u32 looked_at = 0;

	list_for_each_entry_safe(l, next, &i->locks, link) {
		interrupt_window_at(++looked_at);
		if (l->owner == owner) {
			drop(l);
			any = true;
		}
	}
	if (any)
		wake_up(&released);
}

void locks_release_file(struct file *f)
{
	if (!list_empty(&f->inode->locks))
		locks_release_owner(f->inode, f);
}

long lock_flock(struct file *f, int operation)
{
	struct lock wanted = { .owner = f, .whole = true, .end = TO_THE_END };
	bool wait = !(operation & LOCK_NB);

	switch (operation & ~LOCK_NB) {
	case LOCK_SH:
		break;
	case LOCK_EX:
		wanted.exclusive = true;
		break;
	case LOCK_UN:
		break;
	default:
		return -EINVAL;
	}
	return set_lock(f->inode, &wanted, (operation & LOCK_UN) != 0, wait, false);
}

/* The range in bytes from the start of the file. */
static int lock_range(struct file *f, const struct record_lock *r, struct lock *l)
{
	s64 base, start, end;

	switch (r->whence) {
	case SEEK_SET:
		base = 0;
		break;
	case SEEK_CUR:
		base = (s64)f->position;
		break;
	case SEEK_END:
		base = (s64)f->inode->size;
		break;
	default:
		return -EINVAL;
	}
	if (__builtin_add_overflow(base, r->start, &start))
		return -EOVERFLOW;
	if (r->length < 0) {
		end = start - 1;
		if (__builtin_add_overflow(start, r->length, &start))
			return -EINVAL;
	} else if (r->length == 0) {
		end = -1;
	} else if (__builtin_add_overflow(start, r->length - 1, &end)) {
		return -EOVERFLOW;
	}
	if (start < 0)
		return -EINVAL;
	l->start = (u64)start;
	l->end = r->length == 0 ? TO_THE_END : (u64)end;
	return 0;
}

static int describe(struct file *f, const struct record_lock *r, bool by_description, struct lock *l)
{
	int error = lock_range(f, r, l);

	if (error)
		return error;
	if (by_description && r->pid)
		return -EINVAL;
	if (r->type != F_RDLCK && r->type != F_WRLCK && r->type != F_UNLCK)
		return -EINVAL;
	l->owner = by_description ? (const void *)f : current->files;
	l->pid = by_description ? -1 : current->tgid;
	l->whole = false;
	l->exclusive = r->type == F_WRLCK;
	return 0;
}

long lock_set(struct file *f, const struct record_lock *r, bool by_description, bool wait)
{
	struct lock wanted;
	int error = describe(f, r, by_description, &wanted);

	if (error)
		return error;
	if ((r->type == F_RDLCK && !FILE_READS(f)) || (r->type == F_WRLCK && !FILE_WRITES(f)))
		return -EBADF;
	return set_lock(f->inode, &wanted, r->type == F_UNLCK, wait, !by_description);
}

/* Of the locks in the way, the one that begins first. */
static struct lock *first_conflict(struct inode *i, const struct lock *wanted)
{
	struct lock *l, *first = NULL;

	list_for_each_entry(l, &i->locks, link)
		if (in_the_way(l, wanted) && (!first || l->start < first->start))
			first = l;
	return first;
}

long lock_get(struct file *f, struct record_lock *r, bool by_description)
{
	struct lock wanted, *other;
	int error = describe(f, r, by_description, &wanted);

	if (error)
		return error;
	if (r->type == F_UNLCK)
		return -EINVAL;
	other = first_conflict(f->inode, &wanted);
	if (!other) {
		r->type = F_UNLCK;
		return 0;
	}
	r->type = other->exclusive ? F_WRLCK : F_RDLCK;
	r->whence = SEEK_SET;
	r->start = (s64)other->start;
	r->length = other->end == TO_THE_END ? 0 : (s64)(other->end - other->start + 1);
	r->pid = other->pid;
	return 0;
}
