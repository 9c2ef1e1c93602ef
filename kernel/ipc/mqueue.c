/* POSIX message queues: mq_open and its family. Their names are a space of their own, without folders. */
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
#include <procfs.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <text.h>
#include <time.h>
#include <uaccess.h>
#include <wait.h>


#define OVERHEAD 80u	/* bytes that each message counts for besides its own, against RLIMIT_MSGQUEUE */

/* Linux's defaults (mq_overview(7)); the superuser may go up to the hard ones. */
#define QUEUES_MAX 256u
#define COUNT_DEFAULT 10u
#define COUNT_HARD 65536u
#define SIZE_DEFAULT 8192u
#define SIZE_HARD 16777216u
#define PRIORITIES 32768u

struct queued {
	struct list_head link;
	u32 priority, size;
	u8 data[];
};

struct mqueue {
	struct list_head link;		/* of all */
	u32 refs;			/* the name's, and the open files' */
	char name[NAME_MAX + 1];	/* empty: it has been unlinked, and open files keep it */
	struct inode *inode;		/* owner, mode and times */
	u32 count, count_max, size_max;
	u32 bytes;			/* of the messages */
	struct account *account;	/* of who made it, that its limits count for */
	struct list_head messages;	/* by falling priority, then by arrival */
	struct waitq readable, writable;
	struct sigevent event;		/* when a message comes and nobody waits for it */
	struct process *notified;	/* NULL: nobody */
};

static struct list_head queues = LIST_HEAD_INIT(queues);
static u32 queue_count;

static struct mqueue *mqueue_find(const char *name)
{
	struct mqueue *q;

	list_for_each_entry(q, &queues, link)
		if (!strcmp(q->name, name))
			return q;
	return NULL;
}

/* What a queue may grow to. Within 32 bits: charge() has seen to it. */
static u32 most_bytes(u32 count_max, u32 size_max)
{
	return count_max * (size_max + OVERHEAD);
}

/* RLIMIT_MSGQUEUE, by user. The account, or -EMFILE, -ENOMEM. */
static struct account *charge(u32 count_max, u32 size_max)
{
	u32 limit = rlimit(RLIMIT_MSGQUEUE);
	struct account *a;

	if (size_max + OVERHEAD > limit / count_max)
		return ERR_PTR(-EMFILE);
	a = account_of(current->cred.uid);
	if (!a)
		return ERR_PTR(-ENOMEM);
	if (a->queue_bytes > limit - most_bytes(count_max, size_max)) {
		account_settle(a);
		return ERR_PTR(-EMFILE);
	}
	a->queue_bytes += most_bytes(count_max, size_max);
	return a;
}

static void queue_put(struct mqueue *q)
{
	if (--q->refs)
		return;
	while (!list_empty(&q->messages)) {
		struct queued *m = list_first_entry(&q->messages, struct queued, link);

		list_del(&m->link);
		kfree(m);
	}
	list_del(&q->link);
	inode_put(q->inode);
	queue_count--;
	q->account->queue_bytes -= most_bytes(q->count_max, q->size_max);
	account_settle(q->account);
	kfree(q);
}

static unsigned queue_poll(struct file *f, struct poll_table *table)
{
	struct mqueue *q = f->data;

	poll_wait(table, &q->readable);
	poll_wait(table, &q->writable);
	return (q->count ? POLLIN | POLLRDNORM : 0) | (q->count < q->count_max ? POLLOUT | POLLWRNORM : 0);
}

static void queue_release(struct file *f)
{
	struct mqueue *q = f->data;

	if (q->notified == current->process)
		q->notified = NULL;
	queue_put(q);
}

/* Linux's line: bytes in the queue, and who is told of a message (mq_overview(7)). */
static long queue_read(struct file *f, struct iter *it, u64 *position)
{
	const struct mqueue *q = f->data;
	char line[80];
	u32 size = (u32)snprintf(line, sizeof line, "QSIZE:%-10u NOTIFY:%-5d SIGNO:%-5d NOTIFY_PID:%-6d\n", q->bytes,
				 q->notified ? q->event.notify : 0,
				 q->notified && q->event.notify == SIGEV_SIGNAL ? q->event.signo : 0,
				 q->notified ? q->notified->pid : 0);
	long n;

	if (*position >= size)
		return 0;
	n = iter_write(it, line + *position, size - (u32)*position);
	if (n > 0)
		*position += (u64)n;
	return n;
}

static u32 queue_pages_held(const struct file *f)
{
	const struct mqueue *q = f->data;

	return (q->bytes + q->count * (u32)sizeof(struct queued) + PAGE_SIZE - 1) / PAGE_SIZE / q->refs;
}

static const struct file_ops queue_ops = {
	.read = queue_read, .seek = seek_endless, .poll = queue_poll, .release = queue_release,
	.pages_held = queue_pages_held,
};

/* A process that ends is told of nothing any more. */
void mqueue_process_exit(const struct process *process)
{
	struct mqueue *q;

	list_for_each_entry(q, &queues, link)
		if (q->notified == process)
			q->notified = NULL;
}

static int check_attributes(const struct mq_attr *a)
{
	u32 count_limit = capable() ? COUNT_HARD : COUNT_DEFAULT, size_limit = capable() ? SIZE_HARD : SIZE_DEFAULT;

	if (a->count_max <= 0 || a->size_max <= 0)
		return -EINVAL;
	return (u32)a->count_max > count_limit || (u32)a->size_max > size_limit ? -EINVAL : 0;
}

static int mqueue_create(const char *name, u32 mode, const struct mq_attr *a, struct mqueue **out)
{
	struct mqueue *q;
	struct account *account;
	int error = check_attributes(a);

	if (error)
		return error;
	if (queue_count >= QUEUES_MAX && !capable())
		return -ENOSPC;
	account = charge((u32)a->count_max, (u32)a->size_max);
	if (IS_ERR(account))
		return (int)PTR_ERR(account);
	q = kzalloc(sizeof *q);
	if (q)
		q->inode = inode_nameless(S_IFREG | (mode & 0777 & ~current->fs->umask));
	if (!q || !q->inode) {
		account->queue_bytes -= most_bytes((u32)a->count_max, (u32)a->size_max);
		account_settle(account);
		kfree(q);
		return -ENOMEM;
	}
	q->account = account;
	strlcpy(q->name, name, sizeof q->name);
	q->refs = 1;
	q->count_max = (u32)a->count_max;
	q->size_max = (u32)a->size_max;
	list_init(&q->messages);
	waitq_init(&q->readable);
	waitq_init(&q->writable);
	list_add(&q->link, &queues);
	queue_count++;
	*out = q;
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

/* The queue of this name, made if it must be. */
static int find_or_create(const char *name, u32 flags, u32 mode, const struct mq_attr *a, struct mqueue **out,
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

static void unlink_queue(struct mqueue *q)
{
	q->name[0] = 0;
	q->inode->nlink = 0;
	queue_put(q);
}

long sys_mq_open(const char *user_name, u32 flags, u32 mode, const struct mq_attr *user)
{
	struct mq_attr a = { .count_max = COUNT_DEFAULT, .size_max = SIZE_DEFAULT };
	struct mqueue *q;
	struct file *f;
	bool created;
	char *name;
	int error;

	if (user && flags & O_CREAT && copy_from_user(&a, user, sizeof a))
		return -EFAULT;
	name = path_from_user(user_name);
	if (IS_ERR(name))
		return PTR_ERR(name);
	/* Without a descriptor to give, no queue is made. */
	error = fd_reserve(0);
	if (error >= 0)
		error = find_or_create(name, flags, mode, &a, &q, &created);
	kfree(name);
	if (error)
		return error;
	f = file_on_inode(q->inode, "mqueue", flags & (O_ACCMODE | O_NONBLOCK), &queue_ops, q);
	if (IS_ERR(f)) {
		if (created)
			unlink_queue(q);
		return PTR_ERR(f);
	}
	q->refs++;
	return fd_add(f, true);
}

/* The names' folder is everybody's to write, and sticky. */
long sys_mq_unlink(const char *user_name)
{
	char *name = path_from_user(user_name);
	struct mqueue *q;
	int error;

	if (IS_ERR(name))
		return PTR_ERR(name);
	error = check_name(name);
	q = error ? NULL : mqueue_find(name);
	kfree(name);
	if (!q)
		return error ? error : -ENOENT;
	if (current->cred.fsuid != q->inode->uid && !capable())
		return -EPERM;
	unlink_queue(q);
	return 0;
}

/* The queue behind a descriptor, with its file referenced. */
static struct file *queue_get(int fd, struct mqueue **out)
{
	struct file *f = fd_get_of(fd, &queue_ops, -EBADF);

	if (!IS_ERR(f))
		*out = f->data;
	return f;
}

/* A message in an empty queue that nobody waits for: who asked is told once. */
static void notify(struct mqueue *q)
{
	struct siginfo info = {
		.code = SI_MESGQ,
		.kill = { .pid = current->tgid, .uid = current->cred.uid, .value = q->event.value },
	};

	if (!q->notified)
		return;
	if (q->event.notify == SIGEV_SIGNAL && q->event.signo)
		signal_process(q->notified, q->event.signo, &info);
	q->notified = NULL;
}

static void mqueue_insert(struct mqueue *q, struct queued *m)
{
	struct queued *other;
	bool alone = !q->count && !waitq_active(&q->readable);

	list_for_each_entry(other, &q->messages, link)
		if (other->priority < m->priority)
			break;
	list_add_tail(&m->link, &other->link);
	q->count++;
	q->bytes += m->size;
	wake_up(&q->readable);
	if (alone)
		notify(q);
}

static long mqueue_send(struct file *f, struct mqueue *q, const void *data, size_t size, u32 priority, u64 deadline)
{
	struct queued *m;
	long error = 0;

	if (!FILE_WRITES(f))
		return -EBADF;
	if (size > q->size_max)
		return -EMSGSIZE;
	m = kmalloc(sizeof *m + size);
	if (!m)
		return -ENOMEM;
	if (copy_from_user(m->data, data, size))
		error = -EFAULT;
	else if (q->count >= q->count_max)
		error = f->flags & O_NONBLOCK ? -EAGAIN :
						wait_event_until(&q->writable, q->count < q->count_max, deadline);
	if (error) {
		kfree(m);
		return error;
	}
	m->size = (u32)size;
	m->priority = priority;
	mqueue_insert(q, m);
	return 0;
}

static long mqueue_receive(struct file *f, struct mqueue *q, void *data, size_t size, u32 *priority, u64 deadline)
{
	struct queued *m;
	long result = 0;

	if (!FILE_READS(f))
		return -EBADF;
	if (size < q->size_max)
		return -EMSGSIZE;
	if (!q->count)
		result = f->flags & O_NONBLOCK ? -EAGAIN : wait_event_until(&q->readable, q->count, deadline);
	if (result)
		return result;
	m = list_first_entry(&q->messages, struct queued, link);
	list_del(&m->link);
	q->count--;
	q->bytes -= m->size;
	wake_up(&q->writable);
	result = (long)m->size;
	if (copy_to_user(data, m->data, m->size) || (priority && put_user(m->priority, priority)))
		result = -EFAULT;
	kfree(m);
	return result;
}

static long send_by(int fd, const void *data, size_t size, u32 priority, int time_error, u64 date)
{
	struct mqueue *q;
	struct file *f;
	long result;

	if (time_error)
		return time_error;
	if (priority >= PRIORITIES)
		return -EINVAL;
	f = queue_get(fd, &q);
	if (IS_ERR(f))
		return PTR_ERR(f);
	result = mqueue_send(f, q, data, size, priority, date == TIME_NEVER ? TIME_NEVER : time_since_boot(date));
	file_put(f);
	return result;
}

static long receive_by(int fd, void *data, size_t size, u32 *priority, int time_error, u64 date)
{
	struct mqueue *q;
	struct file *f;
	long result;

	if (time_error)
		return time_error;
	f = queue_get(fd, &q);
	if (IS_ERR(f))
		return PTR_ERR(f);
	result = mqueue_receive(f, q, data, size, priority, date == TIME_NEVER ? TIME_NEVER : time_since_boot(date));
	file_put(f);
	return result;
}

long sys_mq_timedsend(int fd, const void *data, size_t size, u32 priority, const struct timespec32 *timeout)
{
	u64 date = TIME_NEVER;
	int error = timeout ? timespec32_from_user(timeout, &date) : 0;

	return send_by(fd, data, size, priority, error, date);
}

long sys_mq_timedsend_time64(int fd, const void *data, size_t size, u32 priority, const struct timespec64 *timeout)
{
	u64 date = TIME_NEVER;
	int error = timeout ? timespec64_from_user(timeout, &date) : 0;

	return send_by(fd, data, size, priority, error, date);
}

long sys_mq_timedreceive(int fd, void *data, size_t size, u32 *priority, const struct timespec32 *timeout)
{
	u64 date = TIME_NEVER;
	int error = timeout ? timespec32_from_user(timeout, &date) : 0;

	return receive_by(fd, data, size, priority, error, date);
}

long sys_mq_timedreceive_time64(int fd, void *data, size_t size, u32 *priority, const struct timespec64 *timeout)
{
	u64 date = TIME_NEVER;
	int error = timeout ? timespec64_from_user(timeout, &date) : 0;

	return receive_by(fd, data, size, priority, error, date);
}

/* SIGEV_THREAD would have a netlink socket told, as glibc has it. */
static int check_event(const struct sigevent *e)
{
	if (e->notify == SIGEV_NONE)
		return 0;
	return e->notify == SIGEV_SIGNAL && e->signo >= 0 && e->signo <= NSIG ? 0 : -EINVAL;
}

long sys_mq_notify(int fd, const struct sigevent *user)
{
	struct sigevent event;
	struct mqueue *q;
	struct file *f;
	long result = 0;

	if (user && copy_from_user(&event, user, sizeof event))
		return -EFAULT;
	if (user && check_event(&event))
		return -EINVAL;
	f = queue_get(fd, &q);
	if (IS_ERR(f))
		return PTR_ERR(f);
	if (user && q->notified) {
		result = -EBUSY;
	} else if (user) {
		q->event = event;
		q->notified = current->process;
	} else if (q->notified == current->process) {
		q->notified = NULL;
	}
	file_put(f);
	return result;
}

long sys_mq_getsetattr(int fd, const struct mq_attr *new, struct mq_attr *old)
{
	struct mq_attr wanted, now;
	struct mqueue *q;
	struct file *f;
	long result = 0;

	if (new && copy_from_user(&wanted, new, sizeof wanted))
		return -EFAULT;
	if (new && (u32)wanted.flags & ~(u32)O_NONBLOCK)
		return -EINVAL;
	f = queue_get(fd, &q);
	if (IS_ERR(f))
		return PTR_ERR(f);
	now = (struct mq_attr){
		.flags = (s32)(f->flags & O_NONBLOCK),
		.count_max = (s32)q->count_max,
		.size_max = (s32)q->size_max,
		.count = (s32)q->count,
	};
	if (old)
		result = copy_to_user(old, &now, sizeof now);
	if (!result && new)
		f->flags = (f->flags & ~(u32)O_NONBLOCK) | (u32)wanted.flags;
	file_put(f);
	return result;
}

static void queues_max_show(struct text *t)
{
	text_printf(t, "%u\n", QUEUES_MAX);
}

static void count_max_show(struct text *t)
{
	text_printf(t, "%u\n", COUNT_DEFAULT);
}

static void size_max_show(struct text *t)
{
	text_printf(t, "%u\n", SIZE_DEFAULT);
}

void mqueue_proc_init(void)
{
	proc_file("sys/fs/mqueue/queues_max", queues_max_show, NULL);
	proc_file("sys/fs/mqueue/msg_max", count_max_show, NULL);
	proc_file("sys/fs/mqueue/msgsize_max", size_max_show, NULL);
}
