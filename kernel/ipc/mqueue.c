/* POSIX message queues: mq_open and its family. Their names are not paths: there are no directories. */
#include <abi/sysv.h>
#include <account.h>
#include <anon.h>
#include <arch.h>
#include <err.h>
#include <file.h>
#include <filesystem.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <list.h>
#include <poll.h>
#include <process.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#define OVERHEAD 80u    /* bytes counted for each message besides its contents */

/* Linux's defaults (mq_overview(7)); the superuser may exceed them up to the *_HARD limits. */
#define COUNT_HARD 65536u
#define SIZE_HARD 16777216u
#define PRIORITIES 32768u

struct queued {
	struct list_head link;
	u32 priority, size;
	u8 data[];
};

struct mqueue {
	struct list_head link;          /* in `named_queues` */
	u32 refs;                       /* the name and the open files */
	char name[NAME_MAX + 1];        /* empty: unlinked; open files keep the queue */
	struct inode *inode;            /* owner, mode and times */
	u32 count, count_max, size_max;
	u32 bytes;                      /* of the messages */
	struct account *account;        /* of the creator, charged for the queue's limits */
	struct list_head messages;      /* by falling priority, then by arrival */
	struct waitq readable, writable;
	u32 receivers;                  /* callers that wait for a message; polls do not count */
	struct sigevent event;          /* the notification for a message without a waiting reader */
	struct process *notified;       /* NULL: nobody */
};

static struct list_head named_queues = LIST_HEAD_INIT(named_queues);
static u32 queue_count;

static struct mqueue *mqueue_find(const char *name)
{
	struct mqueue *queue;

	list_for_each_entry(queue, &named_queues, link)
		if (!strcmp(queue->name, name))
			return queue;
	return NULL;
}

/* The most bytes that a queue can take. mqueue_charge() makes sure that the product fits 32 bits. */
static u32 most_bytes(u32 count_max, u32 size_max)
{
	return count_max * (size_max + OVERHEAD);
}

/* Charges a queue to the user, up to RLIMIT_MSGQUEUE. Returns the account; ERR_PTR(-EMFILE or -ENOMEM). */
static struct account *mqueue_charge(u32 count_max, u32 size_max)
{
	u32 limit = rlimit(RLIMIT_MSGQUEUE);
	struct account *account;

	if (size_max + OVERHEAD > limit / count_max)
		return ERR_PTR(-EMFILE);
	account = account_of(current->cred.uid);
	if (!account)
		return ERR_PTR(-ENOMEM);
	if (account->queue_bytes > limit - most_bytes(count_max, size_max)) {
		account_settle(account);
		return ERR_PTR(-EMFILE);
	}
	account->queue_bytes += most_bytes(count_max, size_max);
	return account;
}

static void queue_put(struct mqueue *queue)
{
	if (--queue->refs)
		return;
	while (!list_empty(&queue->messages)) {
		struct queued *queued = list_first_entry(&queue->messages, struct queued, link);

		list_del(&queued->link);
		kfree(queued);
	}
	list_del(&queue->link);
	inode_put(queue->inode);
	queue_count--;
	queue->account->queue_bytes -= most_bytes(queue->count_max, queue->size_max);
	account_settle(queue->account);
	kfree(queue);
}

static unsigned queue_poll(struct file *file, struct poll_table *table)
{
	struct mqueue *queue = file->data;

	poll_wait(table, &queue->readable);
	poll_wait(table, &queue->writable);
	return (queue->count ? POLLIN | POLLRDNORM : 0) | (queue->count < queue->count_max ? POLLOUT | POLLWRNORM : 0);
}

static void queue_release(struct file *file)
{
	struct mqueue *queue = file->data;

	if (queue->notified == current->process)
		queue->notified = NULL;
	queue_put(queue);
}

/* The line that Linux shows: bytes in the queue, and who is notified (mq_overview(7)). */
static long queue_read(struct file *file, struct iter *it, u64 *position)
{
	const struct mqueue *queue = file->data;
	char line[80];
	u32 size = (u32)snprintf(line, sizeof(line), "QSIZE:%-10u NOTIFY:%-5d SIGNO:%-5d NOTIFY_PID:%-6d\n",
				 queue->bytes,
				 queue->notified ? queue->event.notify : 0,
				 queue->notified && queue->event.notify == SIGEV_SIGNAL ? queue->event.signo : 0,
				 queue->notified ? queue->notified->pid : 0);
	long n;

	if (*position >= size)
		return 0;
	n = iter_write(it, line + *position, size - (u32)*position);
	if (n > 0)
		*position += (u64)n;
	return n;
}

static u32 queue_pages_held(const struct file *file)
{
	const struct mqueue *queue = file->data;

	return (queue->bytes + queue->count * (u32)sizeof(struct queued) + PAGE_SIZE - 1) / PAGE_SIZE / queue->refs;
}

static const struct file_ops queue_ops = {
	.read = queue_read, .seek = seek_endless, .poll = queue_poll, .release = queue_release,
	.pages_held = queue_pages_held,
};

/* Cancels the notifications of a process that ends. */
void mqueue_process_exit(const struct process *process)
{
	struct mqueue *queue;

	list_for_each_entry(queue, &named_queues, link)
		if (queue->notified == process)
			queue->notified = NULL;
}

static int check_attributes(const struct mq_attr *a)
{
	u32 count_limit = capable() ? COUNT_HARD : MQUEUE_COUNT_DEFAULT;
	u32 size_limit = capable() ? SIZE_HARD : MQUEUE_SIZE_DEFAULT;

	if (a->count_max <= 0 || a->size_max <= 0)
		return -EINVAL;
	return (u32)a->count_max > count_limit || (u32)a->size_max > size_limit ? -EINVAL : 0;
}

static int mqueue_create(const char *name, u32 mode, const struct mq_attr *a, struct mqueue **out)
{
	struct mqueue *queue;
	struct account *account;
	int error = check_attributes(a);

	if (error)
		return error;
	if (queue_count >= MQUEUES_MAX && !capable())
		return -ENOSPC;
	account = mqueue_charge((u32)a->count_max, (u32)a->size_max);
	if (IS_ERR(account))
		return (int)PTR_ERR(account);
	queue = kzalloc(sizeof(*queue));
	if (queue)
		queue->inode = inode_nameless(S_IFREG | (mode & 0777 & ~current->fs->umask));
	if (!queue || !queue->inode) {
		account->queue_bytes -= most_bytes((u32)a->count_max, (u32)a->size_max);
		account_settle(account);
		kfree(queue);
		return -ENOMEM;
	}
	queue->account = account;
	strlcpy(queue->name, name, sizeof(queue->name));
	queue->refs = 1;
	queue->count_max = (u32)a->count_max;
	queue->size_max = (u32)a->size_max;
	list_init(&queue->messages);
	waitq_init(&queue->readable);
	waitq_init(&queue->writable);
	list_add(&queue->link, &named_queues);
	queue_count++;
	*out = queue;
	return 0;
}

static int check_name(const char *name)
{
	if (!*name)
		return -ENOENT;
	if (strlen(name) > NAME_MAX)
		return -ENAMETOOLONG;
	return strchr(name, '/') ? -EACCES : 0;
}

/* Finds the queue of this name, or creates it if the flags say so. */
static int mqueue_find_or_create(const char *name, u32 flags, u32 mode, const struct mq_attr *a, struct mqueue **out,
			  bool *created)
{
	static const u8 wanted[] = { MAY_READ, MAY_WRITE, MAY_READ | MAY_WRITE };
	int error = check_name(name);

	if (error)
		return error;
	*out = mqueue_find(name);
	*created = !*out;
	if (!*out)
		return flags & O_CREAT ? mqueue_create(name, mode, a, out) : -ENOENT;
	if (flags & O_CREAT && flags & O_EXCL)
		return -EEXIST;
	if ((flags & O_ACCMODE) == O_ACCMODE)
		return -EINVAL;
	return inode_permission((*out)->inode, wanted[flags & O_ACCMODE]);
}

static void unlink_queue(struct mqueue *queue)
{
	queue->name[0] = 0;
	queue->inode->nlink = 0;
	queue_put(queue);
}

long sys_mq_open(const char *user_name, u32 flags, u32 mode, const struct mq_attr *user)
{
	struct mq_attr a = { .count_max = MQUEUE_COUNT_DEFAULT, .size_max = MQUEUE_SIZE_DEFAULT };
	struct mqueue *queue;
	struct file *file;
	bool created;
	char *name;
	int error;

	if (user && flags & O_CREAT && copy_from_user(&a, user, sizeof(a)))
		return -EFAULT;
	name = path_from_user(user_name);
	if (IS_ERR(name))
		return PTR_ERR(name);
	/* Reserve the descriptor first: if there is none, no queue must be created. */
	error = fd_reserve(0);
	if (error >= 0)
		error = mqueue_find_or_create(name, flags, mode, &a, &queue, &created);
	kfree(name);
	if (error)
		return error;
	file = file_on_inode(queue->inode, "mqueue", flags & (O_ACCMODE | O_NONBLOCK), &queue_ops, queue);
	if (IS_ERR(file)) {
		if (created)
			unlink_queue(queue);
		return PTR_ERR(file);
	}
	queue->refs++;
	return fd_add(file, true);
}

/* Only the owner of a queue and the superuser may remove its name, as in a sticky directory. */
long sys_mq_unlink(const char *user_name)
{
	char *name = path_from_user(user_name);
	struct mqueue *queue;
	int error;

	if (IS_ERR(name))
		return PTR_ERR(name);
	error = check_name(name);
	queue = error ? NULL : mqueue_find(name);
	kfree(name);
	if (!queue)
		return error ? error : -ENOENT;
	if (current->cred.fsuid != queue->inode->uid && !capable())
		return -EPERM;
	unlink_queue(queue);
	return 0;
}

/* The queue of a descriptor; references its file. */
static struct file *queue_get(int fd, struct mqueue **out)
{
	struct file *file = fd_get_of(fd, &queue_ops, -EBADF);

	if (!IS_ERR(file))
		*out = file->data;
	return file;
}

/* Sends the registered notification, once. Called when a message came to an empty queue without waiting readers. */
static void mqueue_notify(struct mqueue *queue)
{
	struct siginfo info = {
		.code = SI_MESGQ,
		.kill = { .pid = current->tgid, .uid = current->cred.uid, .value = queue->event.value },
	};

	if (!queue->notified)
		return;
	if (queue->event.notify == SIGEV_SIGNAL && queue->event.signo)
		signal_process(queue->notified, queue->event.signo, &info);
	queue->notified = NULL;
}

static void mqueue_insert(struct mqueue *queue, struct queued *queued)
{
	struct queued *other;
	bool alone = !queue->count && !queue->receivers;

	list_for_each_window(other, &queue->messages, link)
		if (other->priority < queued->priority)
			break;
	list_add_tail(&queued->link, &other->link);
	queue->count++;
	queue->bytes += queued->size;
	wake_up(&queue->readable);
	if (alone)
		mqueue_notify(queue);
}

static long mqueue_send(struct file *file, struct mqueue *queue, const void *data, size_t size, u32 priority,
			u64 deadline)
{
	struct queued *queued;
	long error = 0;

	if (!FILE_WRITES(file))
		return -EBADF;
	if (size > queue->size_max)
		return -EMSGSIZE;
	queued = kmalloc(sizeof(*queued) + size);
	if (!queued)
		return -ENOMEM;
	if (copy_from_user(queued->data, data, size)) {
		error = -EFAULT;
	} else if (queue->count >= queue->count_max && file->flags & O_NONBLOCK) {
		error = -EAGAIN;
	} else {
		current->call_bytes += size;
		error = wait_event_until(&queue->writable, queue->count < queue->count_max, deadline);
		current->call_bytes -= size;
	}
	if (error) {
		kfree(queued);
		return error;
	}
	queued->size = (u32)size;
	queued->priority = priority;
	mqueue_insert(queue, queued);
	return 0;
}

static long mqueue_receive(struct file *file, struct mqueue *queue, void *data, size_t size, u32 *priority,
			   u64 deadline)
{
	struct queued *queued;
	long result = 0;

	if (!FILE_READS(file))
		return -EBADF;
	if (size < queue->size_max)
		return -EMSGSIZE;
	if (!queue->count && file->flags & O_NONBLOCK)
		return -EAGAIN;
	queue->receivers++;
	result = wait_event_until(&queue->readable, queue->count, deadline);
	queue->receivers--;
	if (result)
		return result;
	queued = list_first_entry(&queue->messages, struct queued, link);
	list_del(&queued->link);
	queue->count--;
	queue->bytes -= queued->size;
	wake_up(&queue->writable);
	result = (long)queued->size;
	if (copy_to_user(data, queued->data, queued->size) || (priority && put_user(queued->priority, priority)))
		result = -EFAULT;
	kfree(queued);
	return result;
}

static long send_by(int fd, const void *data, size_t size, u32 priority, int time_error, u64 date)
{
	struct mqueue *queue;
	struct file *file;
	long result;

	if (time_error)
		return time_error;
	if (priority >= PRIORITIES)
		return -EINVAL;
	file = queue_get(fd, &queue);
	if (IS_ERR(file))
		return PTR_ERR(file);
	result = mqueue_send(file, queue, data, size, priority,
			     date == TIME_NEVER ? TIME_NEVER : time_since_boot(date));
	file_put(file);
	return result;
}

static long receive_by(int fd, void *data, size_t size, u32 *priority, int time_error, u64 date)
{
	struct mqueue *queue;
	struct file *file;
	long result;

	if (time_error)
		return time_error;
	file = queue_get(fd, &queue);
	if (IS_ERR(file))
		return PTR_ERR(file);
	result = mqueue_receive(file, queue, data, size, priority,
				date == TIME_NEVER ? TIME_NEVER : time_since_boot(date));
	file_put(file);
	return result;
}

long sys_mq_timedsend_by(int fd, const void *data, size_t size, u32 priority, const void *timeout, bool time64)
{
	u64 date;
	int error = time_limit_from_user(timeout, time64, &date);

	return send_by(fd, data, size, priority, error, date);
}

long sys_mq_timedreceive_by(int fd, void *data, size_t size, u32 *priority, const void *timeout, bool time64)
{
	u64 date;
	int error = time_limit_from_user(timeout, time64, &date);

	return receive_by(fd, data, size, priority, error, date);
}

/* SIGEV_THREAD would notify a netlink socket, as glibc implements it. */
static int check_event(const struct sigevent *e)
{
	if (e->notify == SIGEV_NONE)
		return 0;
	return e->notify == SIGEV_SIGNAL && e->signo >= 0 && e->signo <= NSIG ? 0 : -EINVAL;
}

long sys_mq_notify(int fd, const struct sigevent *user)
{
	struct sigevent event;
	struct mqueue *queue;
	struct file *file;
	long result = 0;

	if (user && copy_from_user(&event, user, sizeof(event)))
		return -EFAULT;
	if (user && check_event(&event))
		return -EINVAL;
	file = queue_get(fd, &queue);
	if (IS_ERR(file))
		return PTR_ERR(file);
	if (user && queue->notified) {
		result = -EBUSY;
	} else if (user) {
		queue->event = event;
		queue->notified = current->process;
	} else if (queue->notified == current->process) {
		queue->notified = NULL;
	}
	file_put(file);
	return result;
}

long sys_mq_getsetattr(int fd, const struct mq_attr *new, struct mq_attr *old)
{
	struct mq_attr wanted, now;
	struct mqueue *queue;
	struct file *file;
	long result = 0;

	if (new && copy_from_user(&wanted, new, sizeof(wanted)))
		return -EFAULT;
	if (new && (u32)wanted.flags & ~(u32)O_NONBLOCK)
		return -EINVAL;
	file = queue_get(fd, &queue);
	if (IS_ERR(file))
		return PTR_ERR(file);
	now = (struct mq_attr){
		.flags = (s32)(file->flags & O_NONBLOCK),
		.count_max = (s32)queue->count_max,
		.size_max = (s32)queue->size_max,
		.count = (s32)queue->count,
	};
	if (old)
		result = copy_to_user(old, &now, sizeof(now));
	if (!result && new)
		file->flags = (file->flags & ~(u32)O_NONBLOCK) | (u32)wanted.flags;
	file_put(file);
	return result;
}
