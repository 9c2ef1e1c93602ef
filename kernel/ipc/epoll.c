/*
 * epoll: a set of files, and a list of those that may be ready. A file's wait
 * queue puts it on the list; epoll_wait asks each file on the list again, and
 * keeps those that are still ready there unless they are edge-triggered.
 */
#include <abi/poll.h>
#include <anon.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <text.h>
#include <time.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define PRIVATE_BITS (EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLONESHOT | EPOLLET)

#define LEVELS_MAX 5u	/* of epolls in epolls */
#define QUEUES_MAX 3u	/* wait queues that one file's poll operation names */

struct epoll {
	struct list_head items;
	struct list_head ready;
	struct waitq wq;
	struct file *file;	/* its own; not referenced */
	u32 removals;
	u32 seen, levels;	/* the round of looking in which it was, and the levels that were found */
};

static u32 round;

struct item;

struct hook {
	struct waiter waiter;
	struct item *item;
};

struct item {
	struct list_head link;		/* epoll->items */
	struct list_head ready_link;	/* epoll->ready; empty: not there */
	struct list_head watch_link;	/* file->watches */
	struct epoll *epoll;
	struct file *file;		/* not referenced: leaves with it (epoll_forget) */
	int fd;
	struct epoll_event event;
	struct poll_table table;
	struct hook hook[QUEUES_MAX];
	u32 hooks;
};

static void make_ready(struct item *i)
{
	if (list_empty(&i->ready_link))
		list_add_tail(&i->ready_link, &i->epoll->ready);
	wake_up(&i->epoll->wq);
}

static void epoll_wake(struct waiter *waiter)
{
	make_ready(container_of(waiter, struct hook, waiter)->item);
}

static void add_queue(struct poll_table *table, struct waitq *queue)
{
	struct item *i = container_of(table, struct item, table);
	struct hook *h;

	if (i->hooks == QUEUES_MAX)
		return;
	h = &i->hook[i->hooks++];
	waiter_init(&h->waiter);
	h->waiter.wake = epoll_wake;
	h->item = i;
	waitq_add(queue, &h->waiter);
}

static unsigned ask(struct item *i, struct poll_table *table)
{
	return file_poll(i->file, table) & (i->event.events | POLLERR | POLLHUP) & ~PRIVATE_BITS;
}

static void remove_item(struct item *i)
{
	for (u32 h = 0; h < i->hooks; h++)
		waitq_remove(&i->hook[h].waiter);
	list_del(&i->ready_link);
	list_del(&i->watch_link);
	list_del(&i->link);
	i->epoll->removals++;
	kfree(i);
}

void epoll_forget(struct file *f)
{
	struct item *i, *next;
	u32 removed = 0;

	list_for_each_entry_safe(i, next, &f->watches, watch_link) {
		interrupt_window_at(++removed);
		remove_item(i);
	}
}

static struct item *find_item(const struct epoll *ep, const struct file *f, int fd)
{
	struct item *i;
	u32 looked_at = 0;

	list_for_each_entry(i, &ep->items, link) {
		interrupt_window_at(++looked_at);
		if (i->file == f && i->fd == fd)
			return i;
	}
	return NULL;
}

static bool any_ready(struct epoll *ep)
{
	struct item *i, *next;
	u32 asked = 0;

	list_for_each_entry_safe(i, next, &ep->ready, ready_link) {
		interrupt_window_at(++asked);
		if (ask(i, NULL))
			return true;
		list_del(&i->ready_link);
	}
	return false;
}

static unsigned epoll_poll(struct file *f, struct poll_table *table)
{
	struct epoll *ep = f->data;

	poll_wait(table, &ep->wq);
	return any_ready(ep) ? POLLIN | POLLRDNORM : 0;
}

static void epoll_release(struct file *f)
{
	struct epoll *ep = f->data;
	struct item *i, *next;
	u32 removed = 0;

	list_for_each_entry_safe(i, next, &ep->items, link) {
		interrupt_window_at(++removed);
		remove_item(i);
	}
	kfree(ep);
}

static void epoll_show(const struct file *f, struct text *out)
{
	const struct epoll *ep = f->data;
	const struct item *i;

	list_for_each_entry(i, &ep->items, link)
		text_printf(out, "tfd: %8d events: %8x data: %16llx  pos:%llu ino:%llx sdev:%x\n", i->fd, i->event.events,
			    i->event.data, i->file->position, i->file->inode->ino, inode_dev(i->file->inode));
}

static const struct file_ops epoll_ops = { .poll = epoll_poll, .release = epoll_release, .show = epoll_show };

long sys_epoll_create1(u32 flags)
{
	struct epoll *ep;
	struct file *f;

	if (flags & ~(u32)O_CLOEXEC)
		return -EINVAL;
	ep = kzalloc(sizeof *ep);
	if (!ep)
		return -ENOMEM;
	list_init(&ep->items);
	list_init(&ep->ready);
	waitq_init(&ep->wq);
	f = file_anonymous("anon_inode:[eventpoll]", 0600, O_RDWR, &epoll_ops, ep);
	if (IS_ERR(f)) {
		kfree(ep);
		return PTR_ERR(f);
	}
	ep->file = f;
	return fd_add(f, flags & O_CLOEXEC);
}

long sys_epoll_create(int size)
{
	return size <= 0 ? -EINVAL : sys_epoll_create1(0);
}

/*
 * Levels of epolls in an epoll, itself included, with each looked at once in a round, however many ways lead to it.
 * Those that were have this round in `seen`. No deeper than LEVELS_MAX, by check_nesting().
 */
static u32 levels_below(struct epoll *ep, u32 round)
{
	const struct item *i;

	if (ep->seen == round)
		return ep->levels;
	ep->seen = round;
	ep->levels = 1;
	list_for_each_entry(i, &ep->items, link) {
		interrupt_window();
		if (i->file->ops == &epoll_ops)
			ep->levels = MAX(ep->levels, levels_below(i->file->data, round) + 1);
	}
	return ep->levels;
}

/* No deeper than LEVELS_MAX, and along no more ways than paths_fit() allows. */
static u32 levels_above(const struct epoll *ep)
{
	const struct item *i;
	u32 most = 0;

	list_for_each_entry(i, &ep->file->watches, watch_link)
		most = MAX(most, levels_above(i->epoll));
	return most + 1;
}

/* Epolls in epolls make no circle, and no more than LEVELS_MAX levels. */
static int check_nesting(const struct epoll *ep, const struct file *f)
{
	u32 below;

	if (f->ops != &epoll_ops)
		return 0;
	below = levels_below(f->data, ++round);
	return ep->seen == round || levels_above(ep) + below > LEVELS_MAX ? -ELOOP : 0;
}

/*
 * What a wake-up in an epoll costs: the ways up from it, by their length, each to an epoll that is in no other. False:
 * more than Linux allows.
 */
static bool count_paths(const struct epoll *ep, u32 length, u32 count[LEVELS_MAX])
{
	static const u16 most[LEVELS_MAX] = { 1, 500, 100, 50, 10 };
	const struct item *i;

	if (list_empty(&ep->file->watches))
		return ++count[length] <= most[length];
	list_for_each_entry(i, &ep->file->watches, watch_link)
		if (!count_paths(i->epoll, length + 1, count))
			return false;
	return true;
}

/* Whether this holds for an epoll and all below it. */
static bool paths_fit(struct epoll *ep, u32 this_round)
{
	u32 count[LEVELS_MAX] = { 0 };
	const struct item *i;

	if (ep->seen == this_round)
		return true;
	ep->seen = this_round;
	if (!count_paths(ep, 0, count))
		return false;
	list_for_each_entry(i, &ep->items, link) {
		interrupt_window();
		if (i->file->ops == &epoll_ops && !paths_fit(i->file->data, this_round))
			return false;
	}
	return true;
}

static long add_item(struct epoll *ep, struct file *f, int fd, const struct epoll_event *event)
{
	struct item *i;
	int error = check_nesting(ep, f);

	if (error)
		return error;
	i = kzalloc(sizeof *i);
	if (!i)
		return -ENOMEM;
	list_init(&i->ready_link);
	i->epoll = ep;
	i->file = f;
	i->fd = fd;
	i->event = *event;
	i->table.add = add_queue;
	list_add_tail(&i->link, &ep->items);
	list_add_tail(&i->watch_link, &f->watches);
	if (f->ops == &epoll_ops && !paths_fit(f->data, ++round)) {
		remove_item(i);
		return -EINVAL;
	}
	if (ask(i, &i->table))
		make_ready(i);
	return 0;
}

static long control(struct epoll *ep, struct file *f, int fd, int operation, const struct epoll_event *event)
{
	struct item *i = find_item(ep, f, fd);

	switch (operation) {
	case EPOLL_CTL_ADD:
		return i ? -EEXIST : add_item(ep, f, fd, event);
	case EPOLL_CTL_DEL:
		if (!i)
			return -ENOENT;
		remove_item(i);
		return 0;
	case EPOLL_CTL_MOD:
		if (!i)
			return -ENOENT;
		if ((i->event.events | event->events) & EPOLLEXCLUSIVE)
			return -EINVAL;
		i->event = *event;
		if (ask(i, NULL))
			make_ready(i);
		return 0;
	}
	return -EINVAL;
}

long sys_epoll_ctl(int epfd, int operation, int fd, const struct epoll_event *user)
{
	struct epoll_event event = { 0, 0 };
	struct file *ep, *f;
	long result;

	if (operation != EPOLL_CTL_DEL && copy_from_user(&event, user, sizeof event))
		return -EFAULT;
	ep = fd_get(epfd);
	f = fd_get(fd);
	if (!ep || !f || (ep->flags | f->flags) & O_PATH)
		result = -EBADF;
	else if (!f->ops->poll)
		result = -EPERM;
	else if (ep == f || ep->ops != &epoll_ops)
		result = -EINVAL;
	else if (operation == EPOLL_CTL_ADD && event.events & EPOLLEXCLUSIVE && f->ops == &epoll_ops)
		result = -EINVAL;
	else
		result = control(ep->data, f, fd, operation, &event);
	file_put(f);
	file_put(ep);
	return result;
}

/*
 * Copies what is ready of *item to the caller; -EFAULT. The copy may sleep, and the item be removed meanwhile: then
 * *item is NULL, or the one that was made anew for the file.
 */
static int give(struct epoll *ep, struct epoll_event *user, unsigned events, struct item **item)
{
	struct item *i = *item;
	struct epoll_event out = { .events = events, .data = i->event.data };
	const struct file *file = i->file;
	u32 removals = ep->removals;
	int fd = i->fd, error = copy_to_user(user, &out, sizeof out);

	if (ep->removals != removals)
		*item = find_item(ep, file, fd);
	return error;
}

/* Gives the ready files to the caller, at most `count`; how many. */
static long deliver(struct epoll *ep, struct epoll_event *user, int count)
{
	struct list_head again = LIST_HEAD_INIT(again);
	long given = 0;
	u32 asked = 0;

	while (given < count && !list_empty(&ep->ready)) {
		struct item *i = list_first_entry(&ep->ready, struct item, ready_link);
		unsigned events = ask(i, NULL);
		int error;

		interrupt_window_at(++asked);
		list_del(&i->ready_link);
		if (!events)
			continue;
		error = give(ep, &user[given], events, &i);
		if (error) {
			if (i && list_empty(&i->ready_link))
				list_add(&i->ready_link, &ep->ready);
			if (!given)
				given = -EFAULT;
			break;
		}
		given++;
		if (!i)
			continue;
		if (i->event.events & EPOLLONESHOT)
			i->event.events &= PRIVATE_BITS;
		else if (!(i->event.events & EPOLLET) && list_empty(&i->ready_link))
			list_add_tail(&i->ready_link, &again);
	}
	/* Those that stay ready go behind the ones that have not had their turn. */
	while (!list_empty(&again)) {
		struct list_head *first = again.next;

		interrupt_window_at(++asked);
		list_del(first);
		list_add_tail(first, &ep->ready);
	}
	return given;
}

static long epoll_wait_until(int epfd, struct epoll_event *user, int count, u64 deadline)
{
	struct file *f;
	long result = 0;

	if (count <= 0 || count > 0x7fffffff / (int)sizeof(struct epoll_event))
		return -EINVAL;
	if (!user_range_ok(user, (size_t)count * sizeof *user))
		return -EFAULT;
	f = fd_get_of(epfd, &epoll_ops, -EINVAL);
	if (IS_ERR(f))
		return PTR_ERR(f);
	while (!result) {
		struct epoll *ep = f->data;

		result = deliver(ep, user, count);
		if (result || deadline == 0)
			break;
		result = wait_event_until(&ep->wq, !list_empty(&ep->ready), deadline);
		if (result == -ETIMEDOUT) {
			result = 0;
			break;
		}
		if (result == -ERESTARTSYS)
			result = -EINTR;
	}
	file_put(f);
	return result;
}

static u64 deadline_ms(int timeout_ms)
{
	if (timeout_ms < 0)
		return TIME_NEVER;
	return timeout_ms ? time_deadline((u64)timeout_ms * NSEC_PER_MSEC) : 0;
}

long sys_epoll_wait(int epfd, struct epoll_event *events, int count, int timeout_ms)
{
	return epoll_wait_until(epfd, events, count, deadline_ms(timeout_ms));
}

static long wait_with_mask(int epfd, struct epoll_event *events, int count, u64 deadline, const u32 *mask, size_t size)
{
	long result;

	if (mask) {
		result = signal_mask_swap(mask, size);
		if (result)
			return result;
	}
	result = epoll_wait_until(epfd, events, count, deadline);
	if (mask)
		signal_mask_restore(result);
	return result;
}

long sys_epoll_pwait(int epfd, struct epoll_event *events, int count, int timeout_ms, const u32 *mask, size_t size)
{
	return wait_with_mask(epfd, events, count, deadline_ms(timeout_ms), mask, size);
}

long sys_epoll_pwait2(int epfd, struct epoll_event *events, int count, const struct timespec64 *timeout,
		      const u32 *mask, size_t size)
{
	u64 ns = 0;
	int error = timeout ? timespec64_from_user(timeout, &ns) : 0;

	if (error)
		return error;
	return wait_with_mask(epfd, events, count, !timeout ? TIME_NEVER : ns ? time_deadline(ns) : 0, mask, size);
}
