/* inotify: watches on inodes, and queues of events that are read from a descriptor. */
#include <abi/inotify.h>
#include <abi/ioctl.h>
#include <account.h>
#include <anon.h>
#include <err.h>
#include <file.h>
#include <inotify.h>
#include <kmalloc.h>
#include <lib.h>
#include <poll.h>
#include <syscall.h>
#include <task.h>
#include <text.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define IN_KNOWN \
	(IN_ALL_EVENTS | IN_ONLYDIR | IN_DONT_FOLLOW | IN_EXCL_UNLINK | IN_MASK_CREATE | IN_MASK_ADD | IN_ONESHOT)

struct inotify {
	struct list_head watches, events;
	u32 event_count, event_bytes, watch_count;
	struct account *account;        /* of the creator */
	s32 next;               /* number of the next watch */
	struct waitq readable;
};

struct watch {
	struct list_head link;          /* owner->watches */
	struct list_head inode_link;    /* inode->watches */
	struct inotify *owner;
	struct inode *inode;            /* not referenced: the watch is freed with it */
	s32 number;
	u32 mask;
};

struct event {
	struct list_head link;
	struct inotify_event head;
	char name[];            /* head.length bytes, padded with NULs */
};

u32 inotify_watches;

static bool event_same(const struct event *a, const struct event *b)
{
	return !memcmp(&a->head, &b->head, sizeof(a->head)) && !memcmp(a->name, b->name, a->head.length);
}

static struct event *event_new(s32 watch, u32 mask, u32 cookie, const char *name, size_t len)
{
	u32 length = len ? ALIGN_UP((u32)len + 1, (u32)sizeof(struct inotify_event)) : 0;
	struct event *event = kzalloc(sizeof(*event) + length);

	if (!event)
		return NULL;
	event->head = (struct inotify_event){ .watch = watch, .mask = mask, .cookie = cookie, .length = length };
	memcpy(event->name, name, len);
	return event;
}

/* Queues an event, unless it repeats the last one. Without memory or room, the reader gets an overflow event. */
static void event_queue(struct inotify *inotify, s32 watch, u32 mask, u32 cookie, const char *name, size_t len)
{
	struct event *event, *last = list_empty(&inotify->events) ? NULL :
		list_entry(inotify->events.prev, struct event, link);

	if (inotify->event_count >= INOTIFY_EVENTS_MAX) {
		if (last->head.mask == IN_Q_OVERFLOW)
			return;
		watch = -1;
		mask = IN_Q_OVERFLOW;
		cookie = 0;
		len = 0;
	}
	event = event_new(watch, mask, cookie, name, len);
	if (!event || (last && event_same(last, event))) {
		kfree(event);
		return;
	}
	list_add_tail(&event->link, &inotify->events);
	inotify->event_count++;
	inotify->event_bytes += (u32)sizeof(event->head) + event->head.length;
	wake_up(&inotify->readable);
}

static void event_unlink(struct inotify *inotify, struct event *event)
{
	list_del(&event->link);
	inotify->event_count--;
	inotify->event_bytes -= (u32)sizeof(event->head) + event->head.length;
}

static void drop_event(struct inotify *inotify, struct event *event)
{
	event_unlink(inotify, event);
	kfree(event);
}

static void drop_watch(struct watch *watch)
{
	list_del(&watch->link);
	list_del(&watch->inode_link);
	inotify_watches--;
	watch->owner->watch_count--;
	watch->owner->account->inotify_watches--;
	kfree(watch);
}

static void watch_tell(struct inode *inode, u32 mask, u32 cookie, const char *name, size_t len, u32 is_dir)
{
	struct watch *watch, *next;

	list_for_each_window_safe(watch, next, &inode->watches, inode_link) {
		if (!(watch->mask & mask))
			continue;
		event_queue(watch->owner, watch->number, mask | is_dir, cookie, name, len);
		if (watch->mask & IN_ONESHOT) {
			event_queue(watch->owner, watch->number, IN_IGNORED, 0, NULL, 0);
			drop_watch(watch);
		}
	}
}

void inotify_name(struct inode *dir, u32 mask, u32 cookie, const char *name, size_t len, bool is_dir)
{
	watch_tell(dir, mask, cookie, name, len, is_dir ? IN_ISDIR : 0);
}

void inotify_file(struct dentry *dentry, u32 mask)
{
	u32 is_dir = S_ISDIR(dentry->inode->mode) ? IN_ISDIR : 0;

	if (dentry->parent && dentry->parent != dentry)
		watch_tell(dentry->parent->inode, mask, 0, dentry->name, dentry->len, is_dir);
	watch_tell(dentry->inode, mask, 0, NULL, 0, is_dir);
}

void inotify_move(struct inode *from, const char *name, size_t len, struct dentry *now)
{
	static u32 cookie;
	bool is_dir = S_ISDIR(now->inode->mode);

	cookie++;
	inotify_name(from, IN_MOVED_FROM, cookie, name, len, is_dir);
	inotify_name(now->parent->inode, IN_MOVED_TO, cookie, now->name, now->len, is_dir);
	watch_tell(now->inode, IN_MOVE_SELF, 0, NULL, 0, 0);
}

void inotify_gone(struct inode *inode)
{
	struct watch *watch, *next;

	list_for_each_window_safe(watch, next, &inode->watches, inode_link) {
		if (watch->mask & IN_DELETE_SELF)
			event_queue(watch->owner, watch->number, IN_DELETE_SELF, 0, NULL, 0);
		event_queue(watch->owner, watch->number, IN_IGNORED, 0, NULL, 0);
		drop_watch(watch);
	}
}

static long inotify_give(struct inotify *inotify, struct iter *it)
{
	long done = 0;

	while (!list_empty(&inotify->events)) {
		struct event *event = list_first_entry(&inotify->events, struct event, link);
		size_t size = sizeof(event->head) + event->head.length;
		bool given;

		if (size > it->left)
			return done ? done : -EINVAL;
		/* Remove the event before the copy, which may sleep while another thread reads. */
		event_unlink(inotify, event);
		given = iter_write(it, &event->head, sizeof(event->head)) == (long)sizeof(event->head) &&
			iter_write(it, event->name, event->head.length) == (long)event->head.length;
		kfree(event);
		if (!given)
			return done ? done : -EFAULT;
		done += (long)size;
	}
	return done;
}

static long inotify_read(struct file *file, struct iter *it, u64 *position)
{
	struct inotify *inotify = file->data;
	long result = file_wait_event(file, &inotify->readable, !list_empty(&inotify->events));

	(void)position;
	return result ? result : inotify_give(inotify, it);
}

static unsigned inotify_poll(struct file *file, struct poll_table *table)
{
	struct inotify *inotify = file->data;

	poll_wait(table, &inotify->readable);
	return list_empty(&inotify->events) ? 0 : POLLIN | POLLRDNORM;
}

static long inotify_ioctl(struct file *file, unsigned command, uintptr_t argument)
{
	const struct inotify *inotify = file->data;

	return command == FIONREAD ? put_user((s32)inotify->event_bytes, (s32 *)argument) : -ENOTTY;
}

static void inotify_free(struct inotify *inotify)
{
	inotify->account->inotifies--;
	account_settle(inotify->account);
	kfree(inotify);
}

static void inotify_release(struct file *file)
{
	struct inotify *inotify = file->data;
	struct watch *watch;
	struct event *event;

	list_until_empty_meanwhile(watch, &inotify->watches, link)
		drop_watch(watch);
	list_until_empty_meanwhile(event, &inotify->events, link)
		drop_event(inotify, event);
	inotify_free(inotify);
}

static u32 inotify_pages_held(const struct file *file)
{
	const struct inotify *inotify = file->data;

	return (inotify->event_bytes + inotify->event_count * (u32)sizeof(struct list_head) +
		inotify->watch_count * (u32)sizeof(struct watch)) / PAGE_SIZE;
}

/* Other tasks run between two watches and may change the list: it then skips as many watches as it has shown. */
static void inotify_show(const struct file *file, struct text *out)
{
	const struct inotify *inotify = file->data;
	const struct list_head *at = inotify->watches.next;

	for (u32 shown = 1; at != &inotify->watches; shown++) {
		const struct watch *watch = list_entry(at, struct watch, link);

		text_printf(out, "inotify wd:%x ino:%llx sdev:%x mask:%x ignored_mask:0\n", (u32)watch->number,
			    watch->inode->ino,
			    inode_dev(watch->inode), watch->mask);
		at = list_next_meanwhile(&inotify->watches, at, shown);
	}
}

static const struct file_ops inotify_ops = {
	.read = inotify_read, .poll = inotify_poll, .ioctl = inotify_ioctl, .release = inotify_release,
	.long_release = true,
	.show = inotify_show, .pages_held = inotify_pages_held, .signals = true,
};

long sys_inotify_init1(u32 flags)
{
	struct account *account;
	struct inotify *inotify;
	struct file *file;

	if (flags & ~(u32)(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	account = account_of(current->cred.uid);
	if (!account)
		return -ENOMEM;
	if (account->inotifies >= INOTIFY_INSTANCES_MAX)
		return -EMFILE;
	inotify = kzalloc(sizeof(*inotify));
	if (!inotify) {
		account_settle(account);
		return -ENOMEM;
	}
	inotify->account = account;
	account->inotifies++;
	list_init(&inotify->watches);
	list_init(&inotify->events);
	waitq_init(&inotify->readable);
	inotify->next = 1;
	file = file_anonymous("anon_inode:[inotify]", 0600, O_RDONLY | flags, &inotify_ops, inotify);
	if (IS_ERR(file)) {
		inotify_free(inotify);
		return PTR_ERR(file);
	}
	return fd_add(file, flags & O_CLOEXEC);
}

static struct watch *find_watch(const struct inotify *inotify, const struct inode *inode)
{
	struct watch *watch;

	list_for_each_window(watch, &inotify->watches, link)
		if (watch->inode == inode)
			return watch;
	return NULL;
}

static long watch_inode(struct inotify *inotify, struct inode *inode, u32 mask)
{
	struct watch *watch = find_watch(inotify, inode);

	if (watch && mask & IN_MASK_CREATE)
		return -EEXIST;
	if (watch) {
		watch->mask = mask & IN_MASK_ADD ? watch->mask | mask : mask;
		return watch->number;
	}
	if (inotify->account->inotify_watches >= INOTIFY_WATCHES_MAX)
		return -ENOSPC;
	watch = kzalloc(sizeof(*watch));
	if (!watch)
		return -ENOMEM;
	watch->owner = inotify;
	watch->inode = inode;
	watch->mask = mask;
	watch->number = inotify->next++;
	list_add_tail(&watch->link, &inotify->watches);
	list_add_tail(&watch->inode_link, &inode->watches);
	inotify_watches++;
	inotify->watch_count++;
	inotify->account->inotify_watches++;
	return watch->number;
}

static long watch_path(struct inotify *inotify, const char *user_path, u32 mask)
{
	char *path = path_from_user(user_path);
	struct dentry *dentry;
	long result;

	if (IS_ERR(path))
		return PTR_ERR(path);
	result = path_lookup(AT_FDCWD, path,
			     (mask & IN_DONT_FOLLOW ? 0 : WALK_FOLLOW) | (mask & IN_ONLYDIR ? WALK_DIRECTORY :
									  0), &dentry);
	kfree(path);
	if (result)
		return result;
	result = inode_permission(dentry->inode, MAY_READ);
	if (!result)
		result = watch_inode(inotify, dentry->inode, mask);
	dentry_put(dentry);
	return result;
}

long sys_inotify_add_watch(int fd, const char *path, u32 mask)
{
	struct file *file;
	long result;

	if (!(mask & IN_ALL_EVENTS) || mask & ~IN_KNOWN || (mask & IN_MASK_ADD && mask & IN_MASK_CREATE))
		return -EINVAL;
	file = fd_get_of(fd, &inotify_ops, -EINVAL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	result = watch_path(file->data, path, mask);
	file_put(file);
	return result;
}

long sys_inotify_rm_watch(int fd, s32 number)
{
	struct file *file = fd_get_of(fd, &inotify_ops, -EINVAL);
	struct watch *watch;
	struct inotify *inotify;
	long result = -EINVAL;

	if (IS_ERR(file))
		return PTR_ERR(file);
	inotify = file->data;
	list_for_each_window(watch, &inotify->watches, link) {
		if (watch->number == number) {
			event_queue(inotify, number, IN_IGNORED, 0, NULL, 0);
			drop_watch(watch);
			result = 0;
			break;
		}
	}
	file_put(file);
	return result;
}
