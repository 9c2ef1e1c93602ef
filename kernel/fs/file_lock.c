/* Advisory locks: POSIX record locks (by process), open-file-description locks, and flock. */
#include "internal.h"

#include <account.h>
#include <arch.h>
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
 * A lock. The owner of a record lock is the process's descriptor table; of the other kinds, the open file. Ranges
 * include both ends.
 */
struct lock {
	struct list_head link;	/* inode->locks */
	const void *owner;
	bool whole;		/* flock's */
	bool exclusive;
	u64 start, end;
	s32 pid;		/* for F_GETLK; -1 for a lock of an open file description */
	struct account *account;	/* of the user that it counts for */
};

/* The owner's count of its locks. */
static u32 *count_of(const struct lock *lock)
{
	if (lock->whole || lock->pid == -1)
		return &((struct file *)(uintptr_t)lock->owner)->locks;
	return &((struct files *)(uintptr_t)lock->owner)->locks;
}

/* Waiters for any lock: unlocking is rare, so each waiter simply checks again. */
static struct waitq released = WAITQ_INIT(released);

/* Which owner waits for which, to detect a deadlock of record locks. */
struct blocked {
	struct list_head link;
	const void *owner, *holder;
};
static struct list_head blocked_list = LIST_HEAD_INIT(blocked_list);

static bool overlap(const struct lock *lock, u64 start, u64 end)
{
	return lock->start <= end && start <= lock->end;
}

static bool in_the_way(const struct lock *lock, const struct lock *wanted)
{
	return lock->whole == wanted->whole && lock->owner != wanted->owner && (lock->exclusive || wanted->exclusive) &&
	       overlap(lock, wanted->start, wanted->end);
}

static struct lock *conflict(struct inode *inode, const struct lock *wanted)
{
	struct lock *lock;
	u32 looked_at = 0;

	list_for_each_entry(lock, &inode->locks, link) {
		interrupt_window_at(++looked_at);
		if (in_the_way(lock, wanted))
			return lock;
	}
	return NULL;
}

static void add(struct lock *lock, struct list_head *before)
{
	list_add_tail(&lock->link, before);
	lock->account->locks++;
	++*count_of(lock);
}

static void drop(struct lock *lock)
{
	list_del(&lock->link);
	--*count_of(lock);
	lock->account->locks--;
	account_settle(lock->account);
	kfree(lock);
}

/* Taking the range from the owner's locks leaves one more: the middle of one goes. */
static bool splits(struct inode *inode, const struct lock *range)
{
	const struct lock *lock;
	u32 looked_at = 0;

	list_for_each_entry(lock, &inode->locks, link) {
		interrupt_window_at(++looked_at);
		if (lock->whole == range->whole && lock->owner == range->owner && lock->start < range->start &&
		    lock->end > range->end)
			return true;
	}
	return false;
}

/*
 * Removes the owner's locks from the range, shortening those that reach beyond it. If one lock becomes two, it uses
 * `spare` and sets it to NULL.
 */
static void clear_range(struct inode *inode, const struct lock *range, struct lock **spare)
{
	struct lock *lock, *next;
	u32 looked_at = 0;

	list_for_each_entry_safe(lock, next, &inode->locks, link) {
		interrupt_window_at(++looked_at);
		if (lock->whole != range->whole || lock->owner != range->owner ||
		    !overlap(lock, range->start, range->end))
			continue;
		if (lock->start < range->start && lock->end > range->end) {
			struct lock *upper = *spare;

			*spare = NULL;
			*upper = *lock;
			upper->start = range->end + 1;
			add(upper, &lock->link);
			lock->end = range->start - 1;
			return;
		}
		if (lock->start < range->start)
			lock->end = range->start - 1;
		else if (lock->end > range->end)
			lock->start = range->end + 1;
		else
			drop(lock);
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

/* Sleeps until no other lock conflicts. */
static long wait_for_lock(struct inode *inode, const struct lock *wanted, bool by_process)
{
	struct lock *other;

	while ((other = conflict(inode, wanted)) != NULL) {
		struct blocked b = { .owner = wanted->owner, .holder = other->owner };
		long result;

		if (by_process && would_deadlock(wanted->owner, other->owner))
			return -EDEADLK;
		list_add(&b.link, &blocked_list);
		result = wait_event(&released, conflict(inode, wanted) != other);
		list_del(&b.link);
		if (result)
			return result;
	}
	return 0;
}

static long set_lock(struct inode *inode, const struct lock *wanted, bool unlock, bool wait, bool by_process)
{
	struct lock *fresh = kmalloc(sizeof(*fresh)), *spare = kmalloc(sizeof(*spare));
	struct account *account = account_of(current->cred.uid);
	long result = 0;

	if (!fresh || !spare || !account) {
		result = -ENOLCK;
	} else if (account->locks >= ACCOUNT_MOST(sizeof(*fresh)) && (!unlock || splits(inode, wanted))) {
		result = -ENOLCK;
	} else if (!unlock) {
		/* Release a held flock before waiting for the other kind, as flock(2) says. */
		if (wanted->whole && conflict(inode, wanted)) {
			clear_range(inode, wanted, &spare);
			wake_up(&released);
		}
		if (wait)
			result = wait_for_lock(inode, wanted, by_process);
		else if (conflict(inode, wanted))
			result = -EAGAIN;
	}
	if (!result) {
		clear_range(inode, wanted, &spare);
		if (!unlock) {
			*fresh = *wanted;
			/* The wait may have been long, and the user's other locks be gone with the account. */
			fresh->account = account_of(current->cred.uid);
			if (fresh->account) {
				add(fresh, &inode->locks);
				fresh = NULL;
			} else {
				result = -ENOLCK;
			}
		}
		wake_up(&released);
	}
	kfree(fresh);
	kfree(spare);
	account = account_of(current->cred.uid);
	if (account)
		account_settle(account);
	return result;
}

void locks_release_owner(struct inode *inode, const void *owner)
{
	struct lock *lock, *next;
	bool any = false;
	u32 looked_at = 0;

	list_for_each_entry_safe(lock, next, &inode->locks, link) {
		interrupt_window_at(++looked_at);
		if (lock->owner == owner) {
			drop(lock);
			any = true;
		}
	}
	if (any)
		wake_up(&released);
}

void locks_release_file(struct file *file)
{
	if (!list_empty(&file->inode->locks))
		locks_release_owner(file->inode, file);
}

long lock_flock(struct file *file, int operation)
{
	struct lock wanted = { .owner = file, .whole = true, .end = TO_THE_END };
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
	return set_lock(file->inode, &wanted, (operation & LOCK_UN) != 0, wait, false);
}

/* Converts the range to bytes from the start of the file. */
static int lock_range(struct file *file, const struct record_lock *r, struct lock *l)
{
	s64 base, start, end;

	switch (r->whence) {
	case SEEK_SET:
		base = 0;
		break;
	case SEEK_CUR:
		base = (s64)file->position;
		break;
	case SEEK_END:
		base = (s64)file->inode->size;
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

static int lock_describe(struct file *file, const struct record_lock *r, bool by_description, struct lock *l)
{
	int error = lock_range(file, r, l);

	if (error)
		return error;
	if (by_description && r->pid)
		return -EINVAL;
	if (r->type != F_RDLCK && r->type != F_WRLCK && r->type != F_UNLCK)
		return -EINVAL;
	l->owner = by_description ? (const void *)file : current->files;
	l->pid = by_description ? -1 : current->tgid;
	l->whole = false;
	l->exclusive = r->type == F_WRLCK;
	return 0;
}

long lock_set(struct file *file, const struct record_lock *r, bool by_description, bool wait)
{
	struct lock wanted;
	int error = lock_describe(file, r, by_description, &wanted);

	if (error)
		return error;
	if ((r->type == F_RDLCK && !FILE_READS(file)) || (r->type == F_WRLCK && !FILE_WRITES(file)))
		return -EBADF;
	return set_lock(file->inode, &wanted, r->type == F_UNLCK, wait, !by_description);
}

/* The conflicting lock with the lowest start. */
static struct lock *first_conflict(struct inode *inode, const struct lock *wanted)
{
	struct lock *lock, *first = NULL;

	list_for_each_entry(lock, &inode->locks, link)
		if (in_the_way(lock, wanted) && (!first || lock->start < first->start))
			first = lock;
	return first;
}

long lock_get(struct file *file, struct record_lock *r, bool by_description)
{
	struct lock wanted, *other;
	int error = lock_describe(file, r, by_description, &wanted);

	if (error)
		return error;
	if (r->type == F_UNLCK)
		return -EINVAL;
	other = first_conflict(file->inode, &wanted);
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
