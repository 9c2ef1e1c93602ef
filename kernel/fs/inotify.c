/* inotify: watches on inodes, and queues of events that are read from a descriptor. */
#include "internal.h"

#include <abi/inotify.h>
#include <abi/ioctl.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <signal.h>
#include <syscall.h>
#include <text.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define IN_KNOWN (IN_ALL_EVENTS | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ONESHOT)

struct inotify {
	struct list_head watches, events;
	u32 event_count, event_bytes;
	s32 next;		/* number of the next watch */
	struct waitq readable;
};

struct watch {
	struct list_head link;		/* owner->watches */
	struct list_head inode_link;	/* inode->watches */
	struct inotify *owner;
	struct inode *inode;		/* not referenced: the watch leaves with it */
	s32 number;
	u32 mask;
};

struct event {
	struct list_head link;
	struct inotify_event head;
	char name[];		/* head.length bytes, padded with NULs */
};

u32 inotify_watches;

static bool same(const struct event *a, const struct event *b)
{
	return !memcmp(&a->head, &b->head, sizeof a->head) && !memcmp(a->name, b->name, a->head.length);
}

static struct event *event_new(s32 watch, u32 mask, u32 cookie, const char *name, size_t len)
{
	u32 length = len ? ALIGN_UP((u32)len + 1, (u32)sizeof(struct inotify_event)) : 0;
	struct event *e = kzalloc(sizeof *e + length);

	if (!e)
		return NULL;
	e->head = (struct inotify_event){ .watch = watch, .mask = mask, .cookie = cookie, .length = length };
	memcpy(e->name, name, len);
	return e;
}

/* An event that repeats the last one says nothing new. Without memory, or room, the reader learns that some are missing. */
static void queue(struct inotify *n, s32 watch, u32 mask, u32 cookie, const char *name, size_t len)
{
	struct event *e, *last = list_empty(&n->events) ? NULL : list_entry(n->events.prev, struct event, link);

	if (n->event_count >= INOTIFY_EVENTS_MAX) {
		if (last->head.mask == IN_Q_OVERFLOW)
			return;
		watch = -1;
		mask = IN_Q_OVERFLOW;
		cookie = 0;
		len = 0;
	}
	e = event_new(watch, mask, cookie, name, len);
	if (!e || (last && same(last, e))) {
		kfree(e);
		return;
	}
	list_add_tail(&e->link, &n->events);
	n->event_count++;
	n->event_bytes += (u32)sizeof e->head + e->head.length;
	wake_up(&n->readable);
}

static void take_off(struct inotify *n, struct event *e)
{
	list_del(&e->link);
	n->event_count--;
	n->event_bytes -= (u32)sizeof e->head + e->head.length;
}

static void drop_event(struct inotify *n, struct event *e)
{
	take_off(n, e);
	kfree(e);
}

static void drop_watch(struct watch *w)
{
	list_del(&w->link);
	list_del(&w->inode_link);
	inotify_watches--;
	kfree(w);
}

static void tell(struct inode *i, u32 mask, u32 cookie, const char *name, size_t len, u32 is_dir)
{
	struct watch *w, *next;
	u32 looked_at = 0;

	list_for_each_entry_safe(w, next, &i->watches, inode_link) {
		interrupt_window_at(++looked_at);
		if (!(w->mask & mask))
			continue;
		queue(w->owner, w->number, mask | is_dir, cookie, name, len);
		if (w->mask & IN_ONESHOT) {
			queue(w->owner, w->number, IN_IGNORED, 0, NULL, 0);
			drop_watch(w);
		}
	}
}

void inotify_name(struct inode *dir, u32 mask, u32 cookie, const char *name, size_t len, bool is_dir)
{
	tell(dir, mask, cookie, name, len, is_dir ? IN_ISDIR : 0);
}

void inotify_file(struct dentry *d, u32 mask)
{
	u32 is_dir = S_ISDIR(d->inode->mode) ? IN_ISDIR : 0;

	if (d->parent && d->parent != d)
		tell(d->parent->inode, mask, 0, d->name, d->len, is_dir);
	tell(d->inode, mask, 0, NULL, 0, is_dir);
}

void inotify_move(struct inode *from, const char *name, size_t len, struct dentry *now)
{
	static u32 cookie;
	bool is_dir = S_ISDIR(now->inode->mode);

	cookie++;
	inotify_name(from, IN_MOVED_FROM, cookie, name, len, is_dir);
	inotify_name(now->parent->inode, IN_MOVED_TO, cookie, now->name, now->len, is_dir);
	tell(now->inode, IN_MOVE_SELF, 0, NULL, 0, 0);
}

void inotify_gone(struct inode *i)
{
	struct watch *w, *next;
	u32 told = 0;

	list_for_each_entry_safe(w, next, &i->watches, inode_link) {
		interrupt_window_at(++told);
		if (w->mask & IN_DELETE_SELF)
			queue(w->owner, w->number, IN_DELETE_SELF, 0, NULL, 0);
		queue(w->owner, w->number, IN_IGNORED, 0, NULL, 0);
		drop_watch(w);
	}
}

static long inotify_give(struct inotify *n, struct iter *it)
{
	long done = 0;

	while (!list_empty(&n->events)) {
		struct event *e = list_first_entry(&n->events, struct event, link);
		size_t size = sizeof e->head + e->head.length;
		bool given;

		if (size > it->left)
			return done ? done : -EINVAL;
		/* The copy may sleep, and another reader come meanwhile. */
		take_off(n, e);
		given = iter_write(it, &e->head, sizeof e->head) == (long)sizeof e->head &&
			iter_write(it, e->name, e->head.length) == (long)e->head.length;
		kfree(e);
		if (!given)
			return done ? done : -EFAULT;
		done += (long)size;
	}
	return done;
}

static long inotify_read(struct file *f, struct iter *it, u64 *position)
{
	struct inotify *n = f->data;
	long result = file_wait_event(f, &n->readable, !list_empty(&n->events));

	(void)position;
	return result ? result : inotify_give(n, it);
}

static unsigned inotify_poll(struct file *f, struct poll_table *table)
{
	struct inotify *n = f->data;

	poll_wait(table, &n->readable);
	return list_empty(&n->events) ? 0 : POLLIN | POLLRDNORM;
}

static long inotify_ioctl(struct file *f, unsigned command, uintptr_t argument)
{
	const struct inotify *n = f->data;

	return command == FIONREAD ? put_user((s32)n->event_bytes, (s32 *)argument) : -ENOTTY;
}

static void inotify_release(struct file *f)
{
	struct inotify *n = f->data;

	while (!list_empty(&n->watches))
		drop_watch(list_first_entry(&n->watches, struct watch, link));
	while (!list_empty(&n->events))
		drop_event(n, list_first_entry(&n->events, struct event, link));
	kfree(n);
}

static void inotify_show(const struct file *f, struct text *out)
{
	const struct inotify *n = f->data;
	const struct watch *w;

	list_for_each_entry(w, &n->watches, link)
		text_printf(out, "inotify wd:%x ino:%llx sdev:%x mask:%x ignored_mask:0\n", (u32)w->number, w->inode->ino,
			    inode_dev(w->inode), w->mask);
}

static const struct file_ops inotify_ops = {
	.read = inotify_read, .poll = inotify_poll, .ioctl = inotify_ioctl, .release = inotify_release,
	.show = inotify_show, .signals = true,
};

long sys_inotify_init1(u32 flags)
{
	struct inotify *n;

	if (flags & ~(u32)(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	n = kzalloc(sizeof *n);
	if (!n)
		return -ENOMEM;
	list_init(&n->watches);
	list_init(&n->events);
	waitq_init(&n->readable);
	n->next = 1;
	return fd_anonymous("inotify", O_RDONLY | flags, &inotify_ops, n);
}

long sys_inotify_init(void)
{
	return sys_inotify_init1(0);
}

static struct watch *find_watch(const struct inotify *n, const struct inode *i)
{
	struct watch *w;
	u32 looked_at = 0;

	list_for_each_entry(w, &n->watches, link) {
		interrupt_window_at(++looked_at);
		if (w->inode == i)
			return w;
	}
	return NULL;
}

static long watch_inode(struct inotify *n, struct inode *i, u32 mask)
{
	struct watch *w = find_watch(n, i);

	if (w && mask & IN_MASK_CREATE)
		return -EEXIST;
	if (w) {
		w->mask = mask & IN_MASK_ADD ? w->mask | mask : mask;
		return w->number;
	}
	if (inotify_watches >= INOTIFY_WATCHES_MAX)
		return -ENOSPC;
	w = kzalloc(sizeof *w);
	if (!w)
		return -ENOMEM;
	w->owner = n;
	w->inode = i;
	w->mask = mask;
	w->number = n->next++;
	list_add_tail(&w->link, &n->watches);
	list_add_tail(&w->inode_link, &i->watches);
	inotify_watches++;
	return w->number;
}

static long watch_path(struct inotify *n, const char *user_path, u32 mask)
{
	char *path = path_from_user(user_path);
	struct dentry *d;
	long result;

	if (IS_ERR(path))
		return PTR_ERR(path);
	result = path_lookup(AT_FDCWD, path,
			     (mask & IN_DONT_FOLLOW ? 0 : WALK_FOLLOW) | (mask & IN_ONLYDIR ? WALK_DIRECTORY : 0), &d);
	kfree(path);
	if (result)
		return result;
	result = inode_permission(d->inode, MAY_READ);
	if (!result)
		result = watch_inode(n, d->inode, mask);
	dentry_put(d);
	return result;
}

long sys_inotify_add_watch(int fd, const char *path, u32 mask)
{
	struct file *f;
	long result;

	if (!(mask & IN_ALL_EVENTS) || mask & ~IN_KNOWN || (mask & IN_MASK_ADD && mask & IN_MASK_CREATE))
		return -EINVAL;
	f = fd_get_of(fd, &inotify_ops, -EINVAL);
	if (IS_ERR(f))
		return PTR_ERR(f);
	result = watch_path(f->data, path, mask);
	file_put(f);
	return result;
}

long sys_inotify_rm_watch(int fd, s32 number)
{
	struct file *f = fd_get_of(fd, &inotify_ops, -EINVAL);
	struct watch *w;
	struct inotify *n;
	long result = -EINVAL;

	if (IS_ERR(f))
		return PTR_ERR(f);
	n = f->data;
	list_for_each_entry(w, &n->watches, link)
		if (w->number == number) {
			queue(n, number, IN_IGNORED, 0, NULL, 0);
			drop_watch(w);
			result = 0;
			break;
		}
	file_put(f);
	return result;
}
