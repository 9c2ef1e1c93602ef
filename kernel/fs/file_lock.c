/* Advisory locks: POSIX record locks (by process), open-file-description locks, and flock. */
#include <account.h>
#include <arch.h>
#include <file.h>
#include <file_lock.h>
#include <kmalloc.h>
#include <lib.h>
#include <rbtree.h>
#include <task.h>
#include <wait.h>
#include <window.h>

#include "internal.h"

#define TO_THE_END ((u64)~0ull)
#define PASSED_MOST 256u        /* locks, until other tasks run */

/*
 * A lock. The owner of a record lock is the process's descriptor table; of the other kinds, the open file. Ranges
 * include both ends. The locks of one owner and kind do not overlap.
 */
struct lock {
	struct rb_node node;    /* inode->locks, by start */
	struct list_head owned; /* files->locks; of a process's record lock */
	struct inode *inode;
	const void *owner;
	struct account *account;        /* of the user that it counts for */
	s32 pid : 30;           /* for F_GETLK; -1 for a lock of an open file description */
	bool whole : 1;         /* a lock of flock(2) */
	bool exclusive : 1;
	u64 start, end;
	u64 reach;              /* the greatest end in the node's subtree, unless the node is stale */
};

static bool owned_by_process(const struct lock *lock)
{
	return !lock->whole && lock->pid != -1;
}

/* The owner's count of its locks. */
static u32 *count_of(const struct lock *lock)
{
	if (owned_by_process(lock))
		return &((struct files *)(uintptr_t)lock->owner)->lock_count;
	return &((struct file *)(uintptr_t)lock->owner)->locks;
}

/* Waiters for any lock: unlocking is rare, so each waiter simply tries again. */
static struct waitq lock_released = WAITQ_INIT(lock_released);
static u32 lock_releases;

static void announce_release(void)
{
	lock_releases++;
	wake_up(&lock_released);
}

/* Which process waits for which owner, to detect a deadlock of record locks. */
struct blocked {
	struct list_head link;
	const void *owner, *holder;
};
static struct list_head blocked_list = LIST_HEAD_INIT(blocked_list);

static struct lock *lock_entry(struct rb_node *node)
{
	return node ? rb_entry(node, struct lock, node) : NULL;
}

static u64 reach_of(struct rb_node *node)
{
	return node ? lock_entry(node)->reach : 0;
}

/* Computes `reach` of the stale nodes, children before parents. */
static void lock_refresh(struct rb_node *node)
{
	u32 refreshed = 0;

	while (node && node->stale) {
		struct lock *lock = lock_entry(node);

		if (node->left && node->left->stale) {
			node = node->left;
		} else if (node->right && node->right->stale) {
			node = node->right;
		} else {
			lock->reach = MAX(lock->end, MAX(reach_of(node->left), reach_of(node->right)));
			node->stale = false;
			node = node->parent;
			interrupt_window_at(++refreshed);
		}
	}
}

/* The first lock of the subtree that ends at or after `start`. Some lock of the subtree does. */
static struct lock *first_reaching(struct rb_node *node, u64 start)
{
	for (;;) {
		if (node->left && reach_of(node->left) >= start)
			node = node->left;
		else if (lock_entry(node)->end >= start)
			return lock_entry(node);
		else
			node = node->right;
	}
}

/* The locks that overlap a range, in the order of their starts. */
static struct lock *first_overlap(struct inode *inode, u64 start, u64 end)
{
	struct rb_node *root = inode->locks.node;
	struct lock *lock;

	lock_refresh(root);
	lock = root && reach_of(root) >= start ? first_reaching(root, start) : NULL;
	return lock && lock->start <= end ? lock : NULL;
}

/* The next lock that overlaps the range. If `lock` starts before the range, no node of the tree may be stale. */
static struct lock *next_overlap(struct lock *lock, u64 start, u64 end)
{
	struct lock *next = NULL;

	if (lock->start >= start) {
		next = lock_entry(rb_next(&lock->node));
	} else if (reach_of(lock->node.right) >= start) {
		next = first_reaching(lock->node.right, start);
	} else {
		for (struct rb_node *node = lock->node.parent, *from = &lock->node; node && !next;
		     from = node, node = node->parent) {
			if (node->right == from)
				continue;
			if (lock_entry(node)->end >= start)
				next = lock_entry(node);
			else if (reach_of(node->right) >= start)
				next = first_reaching(node->right, start);
		}
	}
	return next && next->start <= end ? next : NULL;
}

static bool in_the_way(const struct lock *lock, const struct lock *wanted)
{
	return lock->whole == wanted->whole && lock->owner != wanted->owner && (lock->exclusive || wanted->exclusive);
}

static bool is_same_owner(const struct lock *lock, const struct lock *wanted)
{
	return lock->whole == wanted->whole && lock->owner == wanted->owner;
}

/* Lets other tasks run, which may drop locks; then finds the first that starts at `start` or later. */
static struct lock *lock_after_others(const struct inode *inode, u64 start)
{
	struct rb_node *node = NULL;
	struct lock *found = NULL;

	preemption_point();
	for (node = inode->locks.node; node;)
		if (lock_entry(node)->start >= start) {
			found = lock_entry(node);
			node = node->left;
		} else {
			node = node->right;
		}
	return found;
}

/*
 * In loops over many locks: opens a window, and now and then lets other tasks run before `next`, which follows a lock
 * that starts at `start`. The caller holds `locking`, so locks go meanwhile, but none comes. No pause between locks
 * that start at one place or before the range: the next is found again by its start.
 */
static struct lock *pause_before(struct lock *next, u64 start, struct inode *inode, const struct lock *range,
				 u32 *passed)
{
	interrupt_window_at(++*passed);
	if (!next || *passed < PASSED_MOST || next->start == start || next->start < range->start)
		return next;
	*passed = 0;
	next = lock_after_others(inode, next->start);
	return next && next->start <= range->end ? next : NULL;
}

static struct lock *next_of_many(struct inode *inode, struct lock *lock, const struct lock *range, u32 *passed)
{
	return pause_before(next_overlap(lock, range->start, range->end), lock->start, inode, range, passed);
}

/* The conflicting lock with the lowest start. */
static struct lock *lock_conflict(struct inode *inode, const struct lock *wanted)
{
	struct lock *lock = first_overlap(inode, wanted->start, wanted->end);
	u32 passed = 0;

	while (lock && !in_the_way(lock, wanted))
		lock = next_of_many(inode, lock, wanted, &passed);
	return lock;
}

static void lock_link(struct lock *lock, struct inode *inode)
{
	struct rb_node **at = &inode->locks.node, *parent = NULL;

	while (*at) {
		parent = *at;
		at = lock->start < lock_entry(parent)->start ? &parent->left : &parent->right;
	}
	rb_insert(&inode->locks, &lock->node, parent, at);
}

static void lock_add(struct lock *lock, struct inode *inode)
{
	lock->inode = inode;
	lock_link(lock, inode);
	list_init(&lock->owned);
	if (owned_by_process(lock))
		list_add(&lock->owned, &((struct files *)(uintptr_t)lock->owner)->locks);
	lock->account->locks++;
	++*count_of(lock);
}

static void lock_drop(struct lock *lock)
{
	rb_erase(&lock->inode->locks, &lock->node);
	list_del(&lock->owned);
	--*count_of(lock);
	lock->account->locks--;
	account_settle(lock->account);
	kfree(lock);
}

/* Whether removing the range from the owner's locks cuts the middle out of one, so that two remain. */
static bool lock_splits(struct inode *inode, const struct lock *range)
{
	struct lock *lock = first_overlap(inode, range->start, range->end);
	u32 passed = 0;

	for (; lock; lock = next_of_many(inode, lock, range, &passed)) {
		if (is_same_owner(lock, range))
			return lock->start < range->start && lock->end > range->end;
	}
	return false;
}

static void clear_one(struct inode *inode, struct lock *lock, const struct lock *range, struct lock **spare)
{
	if (lock->start < range->start && lock->end > range->end) {
		struct lock *upper = *spare;

		*spare = NULL;
		*upper = *lock;
		upper->start = range->end + 1;
		lock_add(upper, inode);
		lock->end = range->start - 1;
		rb_stale(&lock->node);
		lock_refresh(inode->locks.node);
	} else if (lock->start < range->start) {
		lock->end = range->start - 1;
		rb_stale(&lock->node);
		lock_refresh(inode->locks.node);
	} else if (lock->end > range->end) {
		rb_erase(&inode->locks, &lock->node);
		lock->start = range->end + 1;
		lock_link(lock, inode);
	} else {
		lock_drop(lock);
	}
}

/*
 * Removes the owner's locks from the range, shortening those that reach beyond it. If one lock becomes two, it uses
 * `spare` and sets it to NULL. Other tasks run in between; the caller holds `locking`, so none of them adds a lock.
 */
static void clear_range(struct inode *inode, const struct lock *range, struct lock **spare)
{
	struct lock *lock = first_overlap(inode, range->start, range->end), *next;
	bool any = false;
	u32 passed = 0;

	for (; lock; lock = next) {
		u64 start = lock->start;

		next = next_overlap(lock, range->start, range->end);
		if (is_same_owner(lock, range)) {
			any = true;
			clear_one(inode, lock, range, spare);
		}
		next = pause_before(next, start, inode, range, &passed);
	}
	if (any)
		announce_release();
}

static bool would_deadlock(const void *owner, const void *holder)
{
	u32 looked_at = 0;

	for (unsigned steps = 0; steps < 64; steps++) {
		const void *next = NULL;
		struct blocked *b;

		if (holder == owner)
			return true;
		list_for_each_entry(b, &blocked_list, link) {
			interrupt_window_at(++looked_at);
			if (b->owner == holder) {
				next = b->holder;
				break;
			}
		}
		if (!next)
			return false;
		holder = next;
	}
	return false;
}

/* Sleeps until any lock is released after `seen`. `holder` owns a conflicting lock. */
static long wait_for_release(const struct lock *wanted, const void *holder, u32 seen)
{
	struct blocked b = { .owner = wanted->owner, .holder = holder, .link = LIST_HEAD_INIT(b.link) };
	long result;

	if (owned_by_process(wanted)) {
		if (would_deadlock(b.owner, b.holder))
			return -EDEADLK;
		list_add(&b.link, &blocked_list);
	}
	result = wait_event(&lock_released, lock_releases != seen);
	list_del(&b.link);
	return result;
}

/*
 * Closing a descriptor releases the process's locks on the file. So a process gets a lock only while its descriptor
 * names the file: another thread may have closed it during a wait.
 */
static bool may_own(int fd, const struct file *file, const struct lock *wanted)
{
	return !owned_by_process(wanted) || fd_names(fd, file);
}

/* Extends a record lock by the owner's locks of its type that overlap it or lie next to it. */
static void lock_join(struct inode *inode, struct lock *wanted)
{
	const struct lock range = { .start = wanted->start ? wanted->start - 1 : 0,
				    .end = wanted->end == TO_THE_END ? TO_THE_END : wanted->end + 1 };
	struct lock *lock = first_overlap(inode, range.start, range.end);
	u32 passed = 0;

	for (; lock; lock = next_of_many(inode, lock, &range, &passed))
		if (is_same_owner(lock, wanted) && lock->exclusive == wanted->exclusive) {
			wanted->start = MIN(wanted->start, lock->start);
			wanted->end = MAX(wanted->end, lock->end);
		}
}

/*
 * Takes the lock *fresh and sets it to NULL. Unless the caller holds `locking`, another thread may close the descriptor
 * or take a lock before this one.
 */
static long lock_take(int fd, struct file *file, struct lock **fresh, struct lock **spare)
{
	struct lock *lock = *fresh;

	lock_join(file->inode, lock);
	clear_range(file->inode, lock, spare);
	/* Another thread may have closed the file, and the account gone with the user's last lock: look it up again. */
	lock->account = account_of(current->cred.uid);
	if (!lock->account)
		return -ENOLCK;
	if (!may_own(fd, file, lock))
		return -EBADF;
	lock_add(lock, file->inode);
	*fresh = NULL;
	return 0;
}

/* What setting a lock needs. */
struct attempt {
	int fd;
	struct file *file;
	const struct lock *wanted;
	bool unlock;
	struct lock *fresh, *spare;     /* NULL when used */
	const void *holder;     /* out: the owner of a lock that is in the way */
};

/* `locking` is held. -EAGAIN: another's lock is in the way. */
static long try_to_set(struct attempt *a)
{
	const struct account *account = account_of(current->cred.uid);
	struct inode *inode = a->file->inode;
	const struct lock *other;

	if (!account ||
	    (account->locks >= ACCOUNT_MOST(sizeof(*other)) && (!a->unlock || lock_splits(inode, a->wanted))))
		return -ENOLCK;
	if (a->unlock) {
		clear_range(inode, a->wanted, &a->spare);
		return 0;
	}
	other = lock_conflict(inode, a->wanted);
	/* Release a held flock before waiting for the other kind, as flock(2) says. */
	if (other && a->wanted->whole) {
		clear_range(inode, a->wanted, &a->spare);
		other = lock_conflict(inode, a->wanted);
	}
	if (other) {
		a->holder = other->owner;
		return -EAGAIN;
	}
	*a->fresh = *a->wanted;
	return lock_take(a->fd, a->file, &a->fresh, &a->spare);
}

static long set_lock(int fd, struct file *file, const struct lock *wanted, bool unlock, bool wait)
{
	struct attempt a = { .fd = fd, .file = file, .wanted = wanted, .unlock = unlock,
			     .fresh = kmalloc(sizeof(*a.fresh)), .spare = kmalloc(sizeof(*a.spare)) };
	struct mutex *locking = &file->inode->locking;
	struct account *account;
	long result = a.fresh && a.spare ? 0 : -ENOLCK;

	while (!result) {
		u32 seen;

		result = mutex_lock_killable(locking);
		if (result)
			break;
		seen = lock_releases;
		result = try_to_set(&a);
		mutex_unlock(locking);
		if (result != -EAGAIN || !wait)
			break;
		result = wait_for_release(wanted, a.holder, seen);
		if (!result && !may_own(fd, file, wanted))
			result = -EBADF;
	}
	kfree(a.fresh);
	kfree(a.spare);
	account = account_of(current->cred.uid);
	if (account)
		account_settle(account);
	return result;
}

/* Other tasks may run meanwhile. The inode and the owner stay. */
static void lock_release(struct inode *inode, const void *owner)
{
	struct rb_node *node, *next;
	u32 dropped = 0;

	for_each_link_window(node, rb_first(&inode->locks), next) {
		next = rb_next(node);
		if (lock_entry(node)->owner != owner)
			continue;
		lock_drop(lock_entry(node));
		if (++dropped % WINDOW_STEPS == 0 && next) {
			struct lock *lock = lock_after_others(inode, lock_entry(next)->start);

			next = lock ? &lock->node : NULL;
		}
	}
	if (dropped)
		announce_release();
}

void locks_release_descriptor(struct files *files, struct inode *inode)
{
	if (files->lock_count && inode->locks.node)
		lock_release(inode, files);
}

void locks_release_file(struct file *file)
{
	if (file->locks)
		lock_release(file->inode, file);
}

void locks_release_table(struct files *files)
{
	struct lock *lock;

	if (list_empty(&files->locks))
		return;
	list_until_empty_meanwhile(lock, &files->locks, owned)
		lock_drop(lock);
	announce_release();
}

long lock_flock(int fd, struct file *file, int operation)
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
	return set_lock(fd, file, &wanted, (operation & LOCK_UN) != 0, wait);
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

long lock_set(int fd, struct file *file, const struct record_lock *r, bool by_description, bool wait)
{
	struct lock wanted;
	int error = lock_describe(file, r, by_description, &wanted);

	if (error)
		return error;
	if ((r->type == F_RDLCK && !FILE_READS(file)) || (r->type == F_WRLCK && !FILE_WRITES(file)))
		return -EBADF;
	return set_lock(fd, file, &wanted, r->type == F_UNLCK, wait);
}

long lock_get(struct file *file, struct record_lock *r, bool by_description)
{
	struct lock wanted, *other;
	int error = lock_describe(file, r, by_description, &wanted);

	if (error)
		return error;
	if (r->type == F_UNLCK)
		return -EINVAL;
	error = (int)mutex_lock_killable(&file->inode->locking);
	if (error)
		return error;
	other = lock_conflict(file->inode, &wanted);
	mutex_unlock(&file->inode->locking);
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
