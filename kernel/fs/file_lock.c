/* Advisory locks: POSIX record locks (by process), open-file-description locks, and flock. */
#include "internal.h"

#include <account.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <file_lock.h>
#include <rbtree.h>
#include <task.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define TO_THE_END ((u64)~0ull)

/*
 * A lock. The owner of a record lock is the process's descriptor table; of the other kinds, the open file. Ranges
 * include both ends. The locks of one owner and kind do not overlap.
 */
struct lock {
	struct rb_node node;	/* inode->locks, by start */
	struct list_head owned;	/* files->locks; of a process's record lock */
	struct inode *inode;
	const void *owner;
	struct account *account;	/* of the user that it counts for */
	s32 pid : 30;		/* for F_GETLK; -1 for a lock of an open file description */
	bool whole : 1;		/* flock's */
	bool exclusive : 1;
	u64 start, end;
	u64 reach;		/* the greatest end in the node's subtree, unless the node is stale */
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

/* Waiters for any lock: unlocking is rare, so each waiter simply checks again. */
static struct waitq released = WAITQ_INIT(released);

/* Which process waits for which owner, to detect a deadlock of record locks. */
struct blocked {
	struct list_head link;
	const void *owner, *holder;
};
static struct list_head blocked_list = LIST_HEAD_INIT(blocked_list);

static struct lock *entry(struct rb_node *node)
{
	return node ? rb_entry(node, struct lock, node) : NULL;
}

static u64 reach_of(struct rb_node *node)
{
	return node ? entry(node)->reach : 0;
}

/* Computes `reach` of the stale nodes, children before parents. */
static void refresh(struct rb_node *node)
{
	u32 refreshed = 0;

	while (node && node->stale) {
		struct lock *lock = entry(node);

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
		else if (entry(node)->end >= start)
			return entry(node);
		else
			node = node->right;
	}
}

/* The locks that overlap a range, in the order of their starts. */
static struct lock *first_overlap(struct inode *inode, u64 start, u64 end)
{
	struct rb_node *root = inode->locks.node;
	struct lock *lock;

	refresh(root);
	lock = root && reach_of(root) >= start ? first_reaching(root, start) : NULL;
	return lock && lock->start <= end ? lock : NULL;
}

/* After a lock that starts before the range, the tree must be fresh. */
static struct lock *next_overlap(struct lock *lock, u64 start, u64 end)
{
	struct lock *next = NULL;

	if (lock->start >= start) {
		next = entry(rb_next(&lock->node));
	} else if (reach_of(lock->node.right) >= start) {
		next = first_reaching(lock->node.right, start);
	} else {
		for (struct rb_node *node = lock->node.parent, *from = &lock->node; node && !next;
		     from = node, node = node->parent) {
			if (node->right == from)
				continue;
			if (entry(node)->end >= start)
				next = entry(node);
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

/* The conflicting lock with the lowest start. */
static struct lock *conflict(struct inode *inode, const struct lock *wanted)
{
	struct lock *lock = first_overlap(inode, wanted->start, wanted->end);
	u32 looked_at = 0;

	while (lock && !in_the_way(lock, wanted)) {
		interrupt_window_at(++looked_at);
		lock = next_overlap(lock, wanted->start, wanted->end);
	}
	return lock;
}

static const void *holder_of(struct inode *inode, const struct lock *wanted)
{
	const struct lock *lock = conflict(inode, wanted);

	return lock ? lock->owner : NULL;
}

static void link(struct lock *lock, struct inode *inode)
{
	struct rb_node **at = &inode->locks.node, *parent = NULL;

	while (*at) {
		parent = *at;
		at = lock->start < entry(parent)->start ? &parent->left : &parent->right;
	}
	rb_insert(&inode->locks, &lock->node, parent, at);
}

static void add(struct lock *lock, struct inode *inode)
{
	lock->inode = inode;
	link(lock, inode);
	list_init(&lock->owned);
	if (owned_by_process(lock))
		list_add(&lock->owned, &((struct files *)(uintptr_t)lock->owner)->locks);
	lock->account->locks++;
	++*count_of(lock);
}

static void drop(struct lock *lock)
{
	rb_erase(&lock->inode->locks, &lock->node);
	list_del(&lock->owned);
	--*count_of(lock);
	lock->account->locks--;
	account_settle(lock->account);
	kfree(lock);
}

/* Taking the range from the owner's locks leaves one more: the middle of one goes. */
static bool splits(struct inode *inode, const struct lock *range)
{
	struct lock *lock = first_overlap(inode, range->start, range->end);
	u32 looked_at = 0;

	for (; lock; lock = next_overlap(lock, range->start, range->end)) {
		interrupt_window_at(++looked_at);
		if (is_same_owner(lock, range))
			return lock->start < range->start && lock->end > range->end;
	}
	return false;
}

/*
 * Removes the owner's locks from the range, shortening those that reach beyond it. If one lock becomes two, it uses
 * `spare` and sets it to NULL.
 */
static void clear_range(struct inode *inode, const struct lock *range, struct lock **spare)
{
	struct lock *lock = first_overlap(inode, range->start, range->end), *next;
	u32 looked_at = 0;

	for (; lock; lock = next) {
		interrupt_window_at(++looked_at);
		next = next_overlap(lock, range->start, range->end);
		if (!is_same_owner(lock, range))
			continue;
		if (lock->start < range->start && lock->end > range->end) {
			struct lock *upper = *spare;

			*spare = NULL;
			*upper = *lock;
			upper->start = range->end + 1;
			add(upper, inode);
			lock->end = range->start - 1;
			rb_stale(&lock->node);
			return;
		}
		if (lock->start < range->start) {
			lock->end = range->start - 1;
			rb_stale(&lock->node);
			refresh(inode->locks.node);
		} else if (lock->end > range->end) {
			rb_erase(&inode->locks, &lock->node);
			lock->start = range->end + 1;
			link(lock, inode);
			return;
		} else {
			drop(lock);
		}
	}
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

/* Sleeps until no other lock conflicts. */
static long wait_for_lock(struct inode *inode, const struct lock *wanted)
{
	struct blocked b = { .owner = wanted->owner, .link = LIST_HEAD_INIT(b.link) };

	while ((b.holder = holder_of(inode, wanted)) != NULL) {
		long result;

		if (owned_by_process(wanted)) {
			if (would_deadlock(b.owner, b.holder))
				return -EDEADLK;
			list_add(&b.link, &blocked_list);
		}
		result = wait_event(&released, holder_of(inode, wanted) != b.holder);
		list_del(&b.link);
		if (result)
			return result;
	}
	return 0;
}

/*
 * Closing a descriptor releases the process's locks on the file. So a process gets a lock only while its descriptor
 * names the file: another thread may have closed it during a wait.
 */
static bool may_own(int fd, const struct file *file, const struct lock *wanted)
{
	return !owned_by_process(wanted) || fd_names(fd, file);
}

static long set_lock(int fd, struct file *file, const struct lock *wanted, bool unlock, bool wait)
{
	struct lock *fresh = kmalloc(sizeof(*fresh)), *spare = kmalloc(sizeof(*spare));
	struct account *account = account_of(current->cred.uid);
	struct inode *inode = file->inode;
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
			result = wait_for_lock(inode, wanted);
		else if (conflict(inode, wanted))
			result = -EAGAIN;
		if (!result && !may_own(fd, file, wanted))
			result = -EBADF;
	}
	if (!result) {
		clear_range(inode, wanted, &spare);
		if (!unlock) {
			*fresh = *wanted;
			/* The wait may have been long, and the user's other locks be gone with the account. */
			fresh->account = account_of(current->cred.uid);
			if (fresh->account) {
				add(fresh, inode);
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

static void release(struct inode *inode, const void *owner)
{
	struct rb_node *node = rb_first(&inode->locks), *next;
	bool any = false;
	u32 looked_at = 0;

	for (; node; node = next) {
		interrupt_window_at(++looked_at);
		next = rb_next(node);
		if (entry(node)->owner == owner) {
			drop(entry(node));
			any = true;
		}
	}
	if (any)
		wake_up(&released);
}

void locks_release_descriptor(struct files *files, struct inode *inode)
{
	if (files->lock_count && inode->locks.node)
		release(inode, files);
}

void locks_release_file(struct file *file)
{
	if (file->locks)
		release(file->inode, file);
}

void locks_release_table(struct files *files)
{
	u32 dropped = 0;

	if (list_empty(&files->locks))
		return;
	while (!list_empty(&files->locks)) {
		drop(list_first_entry(&files->locks, struct lock, owned));
		if (++dropped % WINDOW_STEPS == 0)
			preemption_point();
	}
	wake_up(&released);
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
	other = conflict(file->inode, &wanted);
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
