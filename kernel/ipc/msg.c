/* System V message queues. */
#include <abi/sysv.h>
#include <abi/sysv_status.h>
#include <arch.h>
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>
#include <wait.h>
#include <window.h>

#include "sysv.h"
#include "sysv_calls.h"

struct queued {
	struct list_head link;
	s32 type;
	u32 size;
	u8 data[];
};

struct queue {
	struct sysv_perm perm;
	struct list_head messages;
	u32 count, bytes, bytes_max;
	s64 sent, received, changed;
	s32 last_sender, last_receiver;
	struct waitq readable, writable;
	u32 busy;		/* callers that sleep in it */
	bool removed;
};

static struct sysv_table queues = { .max = SYSV_SLOTS_MAX };

static void free_queue(struct queue *q)
{
	while (!list_empty(&q->messages)) {
		struct queued *m = list_first_entry(&q->messages, struct queued, link);

		list_del(&m->link);
		kfree(m);
		interrupt_window_at(q->count--);
	}
	kfree(q);
}

long sys_msgget(s32 key, u32 flags)
{
	struct sysv_perm *found;
	struct queue *q;
	long id = sysv_get(&queues, key, flags, &found);

	if (id != -ENOENT)
		return id;
	if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return -ENOENT;
	q = kzalloc(sizeof *q);
	if (!q)
		return -ENOMEM;
	list_init(&q->messages);
	waitq_init(&q->readable);
	waitq_init(&q->writable);
	q->bytes_max = SYSV_QUEUE_BYTES;
	q->changed = (s64)time_real_seconds();
	id = sysv_add(&queues, &q->perm, key, flags);
	if (id < 0)
		free_queue(q);
	return id;
}

/* After a sleep in the queue: the last one out of a removed queue frees it. */
static long woken(struct queue *q, long result)
{
	q->busy--;
	if (!q->removed)
		return result ? -EINTR : 0;
	if (!q->busy)
		free_queue(q);
	return -EIDRM;
}

static bool fits(const struct queue *q, u32 size)
{
	return q->bytes + size <= q->bytes_max && q->count < q->bytes_max;
}

static long message_send(int id, struct queued *m, u32 flags)
{
	struct queue *q = sysv_find(&queues, id);
	long result;

	if (!q)
		return -EINVAL;
	if (!sysv_may(&q->perm, SYSV_WRITE))
		return -EACCES;
	while (!fits(q, m->size)) {
		if (flags & IPC_NOWAIT)
			return -EAGAIN;
		q->busy++;
		result = woken(q, wait_event(&q->writable, fits(q, m->size) || q->removed));
		if (result)
			return result;
	}
	list_add_tail(&m->link, &q->messages);
	q->count++;
	q->bytes += m->size;
	q->sent = (s64)time_real_seconds();
	q->last_sender = current->tgid;
	wake_up(&q->readable);
	return 0;
}

long sys_msgsnd(int id, const void *user, size_t size, u32 flags)
{
	struct queued *m;
	s32 type;
	long result;

	if (size > SYSV_MESSAGE_MAX || id < 0)
		return -EINVAL;
	if (get_user(type, (const s32 *)user))
		return -EFAULT;
	if (type < 1)
		return -EINVAL;
	/* Messages outlive their senders: they leave memory for the programs. */
	m = frames_short() ? NULL : kmalloc(sizeof *m + size);
	if (!m)
		return -ENOMEM;
	m->type = type;
	m->size = size;
	result = copy_from_user(m->data, (const u8 *)user + sizeof type, size) ? -EFAULT : message_send(id, m, flags);
	if (result)
		kfree(m);
	return result;
}

/* The message that a type asks for: 0 the first, n the first of that type, -n the first of the lowest up to n. */
static struct queued *message_pick(const struct queue *q, s32 type, bool except)
{
	struct queued *m, *best = NULL;
	u32 looked_at = 0;

	list_for_each_entry(m, &q->messages, link) {
		interrupt_window_at(++looked_at);
		if (type == 0 || (type > 0 && (m->type == type) != except))
			return m;
		if (type < 0 && m->type <= (type == (s32)0x80000000 ? 0x7fffffff : -type) && (!best || m->type < best->type))
			best = m;
	}
	return best;
}

static long message_take(int id, s32 type, size_t room, u32 flags, struct queued **out)
{
	struct queue *q = sysv_find(&queues, id);
	bool except = flags & MSG_EXCEPT;
	struct queued *m;
	long result;

	if (!q)
		return -EINVAL;
	if (!sysv_may(&q->perm, SYSV_READ))
		return -EACCES;
	while ((m = message_pick(q, type, except)) == NULL) {
		if (flags & IPC_NOWAIT)
			return -ENOMSG;
		q->busy++;
		result = woken(q, wait_event(&q->readable, message_pick(q, type, except) || q->removed));
		if (result)
			return result;
	}
	if (m->size > room && !(flags & MSG_NOERROR))
		return -E2BIG;
	list_del(&m->link);
	q->count--;
	q->bytes -= m->size;
	q->received = (s64)time_real_seconds();
	q->last_receiver = current->tgid;
	wake_up(&q->writable);
	*out = m;
	return 0;
}

long sys_msgrcv(int id, void *user, size_t room, s32 type, u32 flags)
{
	struct queued *m;
	long result;

	if ((s32)room < 0 || id < 0)
		return -EINVAL;
	result = message_take(id, type, room, flags, &m);
	if (result)
		return result;
	room = MIN(room, (size_t)m->size);
	result = (long)room;
	if (put_user(m->type, (s32 *)user) || copy_to_user((u8 *)user + sizeof m->type, m->data, room))
		result = -EFAULT;
	kfree(m);
	return result;
}

static long queue_give_status(const struct queue *q, uaddr_t user)
{
	struct msqid_ds ds;

	memset(&ds, 0, sizeof ds);
	sysv_perm_to_abi(&q->perm, &ds.perm);
	ds.stime = (u32)q->sent;
	ds.rtime = (u32)q->received;
	ds.ctime = (u32)q->changed;
	ds.bytes = q->bytes;
	ds.count = q->count;
	ds.bytes_max = q->bytes_max;
	ds.last_sender = q->last_sender;
	ds.last_receiver = q->last_receiver;
	return copy_to_user((void *)user, &ds, sizeof ds);
}

/* The copy may sleep, and the queue be removed meanwhile. */
static long queue_set_status(int id, uaddr_t user)
{
	struct msqid_ds ds;
	struct queue *q;

	if (copy_from_user(&ds, (void *)user, sizeof ds))
		return -EFAULT;
	q = sysv_find(&queues, id);
	if (!q)
		return -EINVAL;
	if (!sysv_owns(&q->perm))
		return -EPERM;
	if (ds.bytes_max > SYSV_QUEUE_BYTES && !capable())
		return -EPERM;
	sysv_perm_set(&q->perm, &ds.perm);
	q->bytes_max = ds.bytes_max;
	q->changed = (s64)time_real_seconds();
	wake_up(&q->writable);
	return 0;
}

static long remove_queue(struct queue *q)
{
	sysv_remove(&queues, &q->perm);
	q->removed = true;
	wake_up(&q->readable);
	wake_up(&q->writable);
	if (!q->busy)
		free_queue(q);
	return 0;
}

static long queue_give_info(uaddr_t user, bool used)
{
	struct msginfo info = {
		.message_max = SYSV_MESSAGE_MAX, .queue_bytes = SYSV_QUEUE_BYTES, .queues_max = SYSV_SLOTS_MAX, .segment_size = 16,
		.segments = 0xffff,
	};

	info.pool = (s32)(SYSV_SLOTS_MAX * SYSV_QUEUE_BYTES / 1024);
	info.map = info.headers = SYSV_QUEUE_BYTES;
	if (used) {
		info.pool = (s32)queues.used;
		info.map = info.headers = 0;
		for (u32 i = 0; i < queues.max; i++) {
			const struct queue *q = sysv_at(&queues, (int)i);

			if (q) {
				info.map += (s32)q->count;
				info.headers += (s32)q->bytes;
			}
		}
	}
	return copy_to_user((void *)user, &info, sizeof info) ? -EFAULT : sysv_highest(&queues);
}

long sys_msgctl(int id, int command, uaddr_t user)
{
	struct queue *q;
	bool by_slot;
	long result;

	command &= ~IPC_64;
	if (command == IPC_INFO || command == MSG_INFO)
		return queue_give_info(user, command == MSG_INFO);
	by_slot = command == MSG_STAT || command == MSG_STAT_ANY;
	q = by_slot ? sysv_at(&queues, id) : sysv_find(&queues, id);
	if (!q)
		return -EINVAL;
	switch (command) {
	case IPC_STAT:
	case MSG_STAT:
	case MSG_STAT_ANY:
		if (command != MSG_STAT_ANY && !sysv_may(&q->perm, SYSV_READ))
			return -EACCES;
		id = by_slot ? (int)q->perm.id : 0;	/* the copy may sleep, and it be removed meanwhile */
		result = queue_give_status(q, user);
		return result ? result : (long)id;
	case IPC_SET:
		return queue_set_status(id, user);
	case IPC_RMID:
		return sysv_owns(&q->perm) ? remove_queue(q) : -EPERM;
	}
	return -EINVAL;
}
