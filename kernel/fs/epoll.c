/*
 * epoll: a set of files, and a list of those that may be ready. A wake-up of a file's wait queue adds it to the list.
 * epoll_wait polls each file on the list, and keeps it there if it is still ready and not edge-triggered.
 */
#include <abi/poll.h>
#include <account.h>
#include <anon.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <text.h>
#include <time.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define PRIVATE_BITS (EPOLLEXCLUSIVE | EPOLLWAKEUP | EPOLLONESHOT | EPOLLET)
#define EXCLUSIVE_BITS (POLLIN | POLLOUT | POLLERR | POLLHUP | EPOLLWAKEUP | EPOLLET | EPOLLEXCLUSIVE)

#define LEVELS_MAX 5u   /* of epolls in epolls */
#define BELOW_MAX 1000u /* most epolls below one that an epoll watches: no other task runs while they are counted */
#define QUEUES_MAX 3u   /* the most wait queues that a file's poll operation reports */

struct epoll {
	struct list_head items;
	struct list_head ready;
	struct waitq wq;
	struct file *file;      /* the epoll's own file; not referenced */
	struct account *account;        /* of the creator, charged for the items */
	u32 count;              /* items */
	u32 removals;
	u32 deliveries;         /* calls that are taking events: at their end they put back files that stay ready */
	bool missed;            /* during a delivery another task found no ready file: the delivery's end wakes it */
	u32 seen, levels;       /* the last round that visited the epoll, and the levels that it found */
	u32 counted;            /* the last round that counted its paths, and how many of each length it found: */
	u16 paths[LEVELS_MAX];
};

static u32 newest_round;

struct item;

struct hook {
	struct waiter waiter;
	struct item *item;
};

struct item {
	struct list_head link;          /* epoll->items */
	struct list_head ready_link;    /* epoll->ready, or empty */
	struct list_head watch_link;    /* file->watches */
	struct epoll *epoll;
	struct file *file;              /* not referenced: epoll_forget() removes the item with the file */
	int fd;
	struct epoll_event event;
	struct poll_table table;
	struct hook hook[QUEUES_MAX];
	u32 hooks;
	u32 seen;               /* in the first item of a file: the last round that counted its paths */
};

static void make_ready(struct item *item)
{
	if (list_empty(&item->ready_link))
		list_add_tail(&item->ready_link, &item->epoll->ready);
	wake_up(&item->epoll->wq);
}

static void epoll_wake(struct waiter *waiter)
{
	make_ready(container_of(waiter, struct hook, waiter)->item);
}

static void epoll_add_queue(struct poll_table *table, struct waitq *queue)
{
	struct item *item = container_of(table, struct item, table);
	struct hook *h;

	if (item->hooks == QUEUES_MAX)
		return;
	h = &item->hook[item->hooks++];
	waiter_init(&h->waiter);
	h->waiter.wake = epoll_wake;
	h->item = item;
	waitq_add(queue, &h->waiter);
}

static unsigned item_poll(struct item *item, struct poll_table *table)
{
	return file_poll(item->file, table) & item->event.events & ~PRIVATE_BITS;
}

static void leave_queues(struct item *item)
{
	while (item->hooks)
		waitq_remove(&item->hook[--item->hooks].waiter);
}

static void remove_item(struct item *item)
{
	leave_queues(item);
	list_del(&item->ready_link);
	list_del(&item->watch_link);
	list_del(&item->link);
	item->epoll->removals++;
	item->epoll->count--;
	item->epoll->account->epoll_items--;
	kfree(item);
}

void epoll_forget(struct file *file)
{
	struct item *item;

	list_until_empty_meanwhile(item, &file->watches, watch_link)
		remove_item(item);
}

void epoll_requeue(struct file *file)
{
	struct item *item;

	list_for_each_window(item, &file->watches, watch_link) {
		leave_queues(item);
		if (item_poll(item, &item->table))
			make_ready(item);
	}
}

static struct item *find_item(const struct epoll *epoll, const struct file *file, int fd)
{
	struct item *item;

	list_for_each_window(item, &epoll->items, link)
		if (item->file == file && item->fd == fd)
			return item;
	return NULL;
}

/* The caller found no ready file, but a delivery under way may put one back: its end then wakes the waiters. */
static void note_miss(struct epoll *epoll)
{
	epoll->missed = epoll->deliveries != 0;
}

static bool has_ready(struct epoll *epoll)
{
	if (!list_empty(&epoll->ready))
		return true;
	note_miss(epoll);
	return false;
}

static bool any_ready(struct epoll *epoll)
{
	struct item *item, *next;

	list_for_each_window_safe(item, next, &epoll->ready, ready_link) {
		if (item_poll(item, NULL))
			return true;
		list_del(&item->ready_link);
	}
	note_miss(epoll);
	return false;
}

static unsigned epoll_poll(struct file *file, struct poll_table *table)
{
	struct epoll *epoll = file->data;

	poll_wait(table, &epoll->wq);
	return any_ready(epoll) ? POLLIN | POLLRDNORM : 0;
}

static void epoll_free(struct epoll *epoll)
{
	epoll->account->epolls--;
	account_settle(epoll->account);
	kfree(epoll);
}

static void epoll_release(struct file *file)
{
	struct epoll *epoll = file->data;
	struct item *item;

	list_until_empty_meanwhile(item, &epoll->items, link)
		remove_item(item);
	epoll_free(epoll);
}

static u32 epoll_pages_held(const struct file *file)
{
	const struct epoll *epoll = file->data;

	return epoll->count * (u32)sizeof(struct item) / PAGE_SIZE;
}

/* Other tasks run between two items and may change the list: it then skips as many items as it has shown. */
static void epoll_show(const struct file *file, struct text *out)
{
	const struct epoll *epoll = file->data;
	const struct list_head *at = epoll->items.next;

	for (u32 shown = 1; at != &epoll->items; shown++) {
		const struct item *item = list_entry(at, struct item, link);

		text_printf(out, "tfd: %8d events: %8x data: %16llx  pos:%llu ino:%llx sdev:%x\n", item->fd,
			    item->event.events,
			    item->event.data, item->file->position, item->file->inode->ino,
			    inode_dev(item->file->inode));
		at = list_next_meanwhile(&epoll->items, at, shown);
	}
}

static const struct file_ops epoll_ops = {
	.poll = epoll_poll, .release = epoll_release, .long_release = true, .show = epoll_show,
	.pages_held = epoll_pages_held,
};

u32 epoll_items_most(void)
{
	return ACCOUNT_MOST(sizeof(struct item));
}

long sys_epoll_create1(u32 flags)
{
	struct epoll *epoll;
	struct file *file;

	if (flags & ~(u32)O_CLOEXEC)
		return -EINVAL;
	epoll = kzalloc(sizeof(*epoll));
	if (!epoll)
		return -ENOMEM;
	epoll->account = account_of(current->cred.uid);
	if (!epoll->account) {
		kfree(epoll);
		return -ENOMEM;
	}
	epoll->account->epolls++;
	list_init(&epoll->items);
	list_init(&epoll->ready);
	waitq_init(&epoll->wq);
	file = file_anonymous("anon_inode:[eventpoll]", 0600, O_RDWR, &epoll_ops, epoll);
	if (IS_ERR(file)) {
		epoll_free(epoll);
		return PTR_ERR(file);
	}
	epoll->file = file;
	return fd_add(file, flags & O_CLOEXEC);
}

long sys_epoll_create(int size)
{
	return size <= 0 ? -EINVAL : sys_epoll_create1(0);
}

static bool watches_epoll(const struct item *item)
{
	return item->file->ops == &epoll_ops;
}

/*
 * Counts the levels of epolls below an epoll, itself included. A round visits each epoll once (`seen`), however many
 * paths lead to it, and leaves *room for so many more. check_nesting() limits the depth to LEVELS_MAX; with too many
 * epolls below, the result is more than that.
 */
static u32 levels_below(struct epoll *epoll, u32 round, u32 *room)
{
	const struct item *item;

	if (epoll->seen == round)
		return epoll->levels;
	if (!*room)
		return LEVELS_MAX + 1;
	interrupt_window_at(--*room);
	epoll->seen = round;
	epoll->levels = 1;
	list_for_each_entry(item, &epoll->items, link) {
		if (!watches_epoll(item) || epoll->levels > LEVELS_MAX)
			break;
		epoll->levels = MAX(epoll->levels, levels_below(item->file->data, round, room) + 1);
	}
	return epoll->levels;
}

/* The depth is at most LEVELS_MAX, and paths_fit() limits the number of paths. */
static u32 levels_above(const struct epoll *epoll)
{
	const struct item *item;
	u32 most = 0;

	list_for_each_entry(item, &epoll->file->watches, watch_link)
		most = MAX(most, levels_above(item->epoll));
	return most + 1;
}

/* Rejects a cycle of epolls, more than LEVELS_MAX levels, and more than BELOW_MAX epolls below. */
static int check_nesting(const struct epoll *epoll, const struct file *file)
{
	u32 below, room = BELOW_MAX;

	if (file->ops != &epoll_ops)
		return 0;
	below = levels_below(file->data, ++newest_round, &room);
	return epoll->seen == newest_round || levels_above(epoll) + below > LEVELS_MAX ? -ELOOP : 0;
}

/*
 * The most paths of each length from a file up to the epolls that are in no other epoll, as on Linux: any number
 * through one epoll, 500 through two, and so on. From an epoll, one path ends at that epoll.
 */
static const u16 paths_most[LEVELS_MAX] = { 1, 500, 100, 50, 10 };

/*
 * Counts, by length, the paths from an epoll up to the epolls that are in no other epoll. A wake-up follows all of
 * them. A round counts them once for each epoll, however many paths lead to it. A count stops at one more than is
 * allowed.
 */
static void count_paths(struct epoll *epoll, u32 round)
{
	const struct item *item;

	if (epoll->counted == round)
		return;
	epoll->counted = round;
	memset(epoll->paths, 0, sizeof(epoll->paths));
	if (list_empty(&epoll->file->watches))
		epoll->paths[0] = 1;
	list_for_each_window(item, &epoll->file->watches, watch_link) {
		count_paths(item->epoll, round);
		for (u32 i = 1; i < LEVELS_MAX; i++) {
			u32 sum = (u32)epoll->paths[i] + item->epoll->paths[i - 1];

			epoll->paths[i] = (u16)MIN(sum, paths_most[i] + 1u);
		}
	}
}

/* Whether few paths lead up from a file that is no epoll. Many items may watch it: the first one notes the round. */
static bool file_paths_fit(const struct file *file, u32 round)
{
	struct item *first = list_first_entry(&file->watches, struct item, watch_link);
	const struct item *item;
	u32 paths[LEVELS_MAX] = { 0 };

	if (first->seen == round)
		return true;
	first->seen = round;
	list_for_each_window(item, &file->watches, watch_link) {
		count_paths(item->epoll, round);
		for (u32 i = 1; i < LEVELS_MAX; i++) {
			paths[i] += item->epoll->paths[i];
			if (paths[i] > paths_most[i])
				return false;
		}
	}
	return true;
}

static bool few_paths(const struct epoll *epoll)
{
	for (u32 i = 0; i < LEVELS_MAX; i++)
		if (epoll->paths[i] > paths_most[i])
			return false;
	return true;
}

/* Whether few paths lead up from an epoll, and from all files below it. */
static bool paths_fit(struct epoll *epoll, u32 round)
{
	const struct item *item;

	if (epoll->seen == round)
		return true;
	epoll->seen = round;
	count_paths(epoll, round);
	if (!few_paths(epoll))
		return false;
	list_for_each_window(item, &epoll->items, link)
		if (watches_epoll(item) ? !paths_fit(item->file->data, round) : !file_paths_fit(item->file, round))
			return false;
	return true;
}

/* Whether the paths that a new item adds or makes longer are few. An epoll that no epoll watches adds none. */
static bool item_fits(const struct item *item)
{
	if (watches_epoll(item))
		return paths_fit(item->file->data, ++newest_round);
	return list_empty(&item->epoll->file->watches) || file_paths_fit(item->file, ++newest_round);
}

static long add_item(struct epoll *epoll, struct file *f, int fd, const struct epoll_event *event)
{
	struct item *item;
	int error = check_nesting(epoll, f);

	if (error)
		return error;
	if (epoll->account->epoll_items >= ACCOUNT_MOST(sizeof(*item)))
		return -ENOSPC;
	item = kzalloc(sizeof(*item));
	if (!item)
		return -ENOMEM;
	epoll->count++;
	epoll->account->epoll_items++;
	list_init(&item->ready_link);
	item->epoll = epoll;
	item->file = f;
	item->fd = fd;
	item->event = *event;
	item->table.add = epoll_add_queue;
	/* Epolls come first, so that a walk of epolls ends at the first other file. */
	if (f->ops == &epoll_ops)
		list_add(&item->link, &epoll->items);
	else
		list_add_tail(&item->link, &epoll->items);
	list_add_tail(&item->watch_link, &f->watches);
	if (!item_fits(item)) {
		remove_item(item);
		return -EINVAL;
	}
	if (item_poll(item, &item->table))
		make_ready(item);
	return 0;
}

static long epoll_control(struct epoll *epoll, struct file *file, int fd, int operation,
			  const struct epoll_event *event)
{
	struct item *item = find_item(epoll, file, fd);

	switch (operation) {
	case EPOLL_CTL_ADD:
		return item ? -EEXIST : add_item(epoll, file, fd, event);
	case EPOLL_CTL_DEL:
		if (!item)
			return -ENOENT;
		remove_item(item);
		return 0;
	case EPOLL_CTL_MOD:
		if (!item)
			return -ENOENT;
		if (item->event.events & EPOLLEXCLUSIVE)
			return -EINVAL;
		item->event = *event;
		if (item_poll(item, NULL))
			make_ready(item);
		return 0;
	}
	return -EINVAL;
}

static bool may_be_exclusive(const struct file *file, int operation, u32 events)
{
	return operation == EPOLL_CTL_ADD && file->ops != &epoll_ops && !(events & ~EXCLUSIVE_BITS);
}

long sys_epoll_ctl(int epfd, int operation, int fd, const struct epoll_event *user)
{
	struct epoll_event event = { 0 };
	struct file *file, *f;
	long result;

	if (operation != EPOLL_CTL_DEL && copy_from_user(&event, user, sizeof(event)))
		return -EFAULT;
	file = fd_get(epfd);
	f = fd_get(fd);
	if (!file || !f || (file->flags | f->flags) & O_PATH)
		result = -EBADF;
	else if (!f->ops->poll)
		result = -EPERM;
	else if (file == f || file->ops != &epoll_ops)
		result = -EINVAL;
	else if (event.events & EPOLLEXCLUSIVE && !may_be_exclusive(f, operation, event.events))
		result = -EINVAL;
	else {
		event.events |= POLLERR | POLLHUP;
		result = epoll_control(file->data, f, fd, operation, &event);
	}
	file_put(f);
	file_put(file);
	return result;
}

/*
 * Copies the ready events of *item to the caller; -EFAULT. The copy may sleep, and the item may be removed meanwhile:
 * then *item is NULL, or the file's new item.
 */
static int epoll_give(struct epoll *epoll, struct epoll_event *user, unsigned events, struct item **item)
{
	struct item *i = *item;
	struct epoll_event out = { .events = events, .data = i->event.data };
	const struct file *file = i->file;
	u32 removals = epoll->removals;
	int fd = i->fd, error = copy_to_user(user, &out, sizeof(out));

	if (epoll->removals != removals)
		*item = find_item(epoll, file, fd);
	return error;
}

/* Copies the events of at most `count` ready files to the caller; returns the number of files. */
static long epoll_deliver(struct epoll *epoll, struct epoll_event *user, int count)
{
	struct list_head again = LIST_HEAD_INIT(again);
	struct item *item;
	long given = 0;
	u32 asked = 0;

	epoll->deliveries++;
	while (given < count && !list_empty(&epoll->ready)) {
		unsigned events;
		int error;

		item = list_first_entry(&epoll->ready, struct item, ready_link);
		events = item_poll(item, NULL);
		interrupt_window_at(++asked);
		list_del(&item->ready_link);
		if (!events)
			continue;
		error = epoll_give(epoll, &user[given], events, &item);
		if (error) {
			if (item && list_empty(&item->ready_link))
				list_add(&item->ready_link, &epoll->ready);
			if (!given)
				given = -EFAULT;
			break;
		}
		given++;
		if (!item)
			continue;
		if (item->event.events & EPOLLONESHOT)
			item->event.events &= PRIVATE_BITS;
		else if (!(item->event.events & EPOLLET) && list_empty(&item->ready_link))
			list_add_tail(&item->ready_link, &again);
	}
	/* Files that stay ready go to the end of the list. */
	list_until_empty_window(item, &again, ready_link) {
		list_del(&item->ready_link);
		list_add_tail(&item->ready_link, &epoll->ready);
	}
	epoll->deliveries--;
	if (epoll->missed && !list_empty(&epoll->ready)) {
		epoll->missed = false;
		wake_up(&epoll->wq);
	}
	return given;
}

static long epoll_wait_until(int epfd, struct epoll_event *user, int count, u64 deadline)
{
	struct file *file;
	long result = 0;

	if (count <= 0 || count > 0x7fffffff / (int)sizeof(struct epoll_event))
		return -EINVAL;
	if (!user_range_ok(user, (size_t)count * sizeof(*user)))
		return -EFAULT;
	file = fd_get_of(epfd, &epoll_ops, -EINVAL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	while (!result) {
		struct epoll *epoll = file->data;

		result = epoll_deliver(epoll, user, count);
		if (result || deadline == 0)
			break;
		result = wait_event_until(&epoll->wq, has_ready(epoll), deadline);
		if (result == -ETIMEDOUT) {
			result = 0;
			break;
		}
		if (result == -ERESTARTSYS)
			result = -EINTR;
	}
	file_put(file);
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
	long result = signal_mask_swap(mask, size);

	if (result)
		return result;
	result = epoll_wait_until(epfd, events, count, deadline);
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
	int error = timeout ? time_from_user(timeout, true, &ns) : 0;

	if (error)
		return error;
	return wait_with_mask(epfd, events, count, !timeout ? TIME_NEVER : ns ? time_deadline(ns) : 0, mask, size);
}
