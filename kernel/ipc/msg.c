/* System V message queues. */
#include <abi/sysv.h>
#include <abi/sysv_status.h>
#include <arch.h>
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
	s64 sent, received;
	s32 last_sender, last_receiver;
	struct waitq readable, writable;
	u32 busy;               /* callers sleeping in it */
	bool removed;
};

static struct sysv_table message_queues;

static void free_queue(struct queue *queue)
{
	struct queued *queued;

	list_until_empty_window(queued, &queue->messages, link) {
		list_del(&queued->link);
		kfree(queued);
	}
	kfree(queue);
}

long sys_msgget(s32 key, u32 flags)
{
	struct sysv_perm *found;
	struct queue *queue;
	long id = sysv_get(&message_queues, key, flags, &found);

	if (id != -ENOENT)
		return id;
	if (key != IPC_PRIVATE && !(flags & IPC_CREAT))
		return -ENOENT;
	queue = kzalloc(sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	list_init(&queue->messages);
	waitq_init(&queue->readable);
	waitq_init(&queue->writable);
	queue->bytes_max = SYSV_QUEUE_BYTES;
	id = sysv_add(&message_queues, &queue->perm, key, flags);
	if (id < 0)
		free_queue(queue);
	return id;
}

/* Called after a sleep in the queue: returns the sleep's result, or -EIDRM. The last caller frees a removed queue. */
static long queue_woken(struct queue *queue, long result)
{
	queue->busy--;
	if (!queue->removed)
		return result ? -EINTR : 0;
	if (!queue->busy)
		free_queue(queue);
	return -EIDRM;
}

static bool message_fits(const struct queue *queue, u32 size)
{
	return queue->bytes + size <= queue->bytes_max && queue->count < queue->bytes_max;
}

static long message_send(int id, struct queued *queued, u32 flags)
{
	struct queue *queue = sysv_find(&message_queues, id);
	long result;

	if (!queue)
		return -EINVAL;
	if (!sysv_may(&queue->perm, SYSV_WRITE))
		return -EACCES;
	while (!message_fits(queue, queued->size)) {
		if (flags & IPC_NOWAIT)
			return -EAGAIN;
		queue->busy++;
		current->call_bytes += queued->size;
		result = queue_woken(queue, wait_event(&queue->writable,
						       message_fits(queue, queued->size) || queue->removed));
		current->call_bytes -= queued->size;
		if (result)
			return result;
	}
	list_add_tail(&queued->link, &queue->messages);
	queue->count++;
	queue->bytes += queued->size;
	queue->sent = (s64)time_real_seconds();
	queue->last_sender = current->tgid;
	wake_up(&queue->readable);
	return 0;
}

long sys_msgsnd(int id, const void *user, size_t size, u32 flags)
{
	struct queued *queued;
	s32 type;
	long result;

	if (size > SYSV_MESSAGE_MAX || id < 0)
		return -EINVAL;
	if (get_user(type, (const s32 *)user))
		return -EFAULT;
	if (type < 1)
		return -EINVAL;
	/* Messages outlive their senders, so they must leave memory for programs. */
	queued = frames_short() ? NULL : kmalloc(sizeof(*queued) + size);
	if (!queued)
		return -ENOMEM;
	queued->type = type;
	queued->size = size;
	result = copy_from_user(queued->data, (const u8 *)user + sizeof(type), size) ? -EFAULT :
		message_send(id, queued, flags);
	if (result)
		kfree(queued);
	return result;
}

/* The message for a requested type: 0: the first; n: the first of type n; -n: the first of the lowest type up to n. */
static struct queued *message_pick(const struct queue *queue, s32 type, bool except)
{
	struct queued *queued, *best = NULL;

	list_for_each_window(queued, &queue->messages, link) {
		if (type == 0 || (type > 0 && (queued->type == type) != except))
			return queued;
		if (type < 0 && queued->type <= (type == (s32)0x80000000 ? 0x7fffffff : -type) &&
		    (!best || queued->type < best->type))
			best = queued;
	}
	return best;
}

static long message_take(int id, s32 type, size_t room, u32 flags, struct queued **out)
{
	struct queue *queue = sysv_find(&message_queues, id);
	bool except = flags & MSG_EXCEPT;
	struct queued *queued;
	long result;

	if (!queue)
		return -EINVAL;
	if (!sysv_may(&queue->perm, SYSV_READ))
		return -EACCES;
	while ((queued = message_pick(queue, type, except)) == NULL) {
		if (flags & IPC_NOWAIT)
			return -ENOMSG;
		queue->busy++;
		result = queue_woken(queue,
			       wait_event(&queue->readable, message_pick(queue, type, except) || queue->removed));
		if (result)
			return result;
	}
	if (queued->size > room && !(flags & MSG_NOERROR))
		return -E2BIG;
	list_del(&queued->link);
	queue->count--;
	queue->bytes -= queued->size;
	queue->received = (s64)time_real_seconds();
	queue->last_receiver = current->tgid;
	wake_up(&queue->writable);
	*out = queued;
	return 0;
}

long sys_msgrcv(int id, void *user, size_t room, s32 type, u32 flags)
{
	struct queued *queued;
	long result;

	if ((s32)room < 0 || id < 0)
		return -EINVAL;
	result = message_take(id, type, room, flags, &queued);
	if (result)
		return result;
	room = MIN(room, (size_t)queued->size);
	result = (long)room;
	if (put_user(queued->type, (s32 *)user) || copy_to_user((u8 *)user + sizeof(queued->type), queued->data, room))
		result = -EFAULT;
	kfree(queued);
	return result;
}

static void queue_status(const struct sysv_perm *perm, union sysv_status *status)
{
	const struct queue *queue = container_of(perm, struct queue, perm);
	struct msqid_ds *ds = &status->msg;

	ds->stime = (u32)queue->sent;
	ds->rtime = (u32)queue->received;
	ds->ctime = (u32)perm->changed;
	ds->bytes = queue->bytes;
	ds->count = queue->count;
	ds->bytes_max = queue->bytes_max;
	ds->last_sender = queue->last_sender;
	ds->last_receiver = queue->last_receiver;
}

static long queue_set(struct sysv_perm *perm, const union sysv_status *status)
{
	struct queue *queue = container_of(perm, struct queue, perm);

	if (status->msg.bytes_max > SYSV_QUEUE_BYTES && !capable())
		return -EPERM;
	queue->bytes_max = status->msg.bytes_max;
	wake_up(&queue->writable);
	return 0;
}

static void queue_remove(struct sysv_perm *perm)
{
	struct queue *queue = container_of(perm, struct queue, perm);

	sysv_remove(&message_queues, perm);
	queue->removed = true;
	wake_up(&queue->readable);
	wake_up(&queue->writable);
	if (!queue->busy)
		free_queue(queue);
}

static struct sysv_table message_queues = {
	.stat = MSG_STAT,
	.stat_any = MSG_STAT_ANY,
	.status_size = sizeof(struct msqid_ds),
	.status = queue_status,
	.set = queue_set,
	.remove = queue_remove,
};

static long queue_give_info(uaddr_t user, bool used)
{
	struct msginfo info = {
		.message_max = SYSV_MESSAGE_MAX, .queue_bytes = SYSV_QUEUE_BYTES, .queues_max = SYSV_SLOTS_MAX,
		.segment_size = 16,
		.segments = 0xffff,
	};

	info.pool = (s32)(SYSV_SLOTS_MAX * SYSV_QUEUE_BYTES / 1024);
	info.map = info.headers = SYSV_QUEUE_BYTES;
	if (used) {
		info.pool = (s32)message_queues.used;
		info.map = info.headers = 0;
		for (u32 i = 0; i < SYSV_SLOTS_MAX; i++) {
			const struct queue *queue = sysv_at(&message_queues, (int)i);

			if (queue) {
				info.map += (s32)queue->count;
				info.headers += (s32)queue->bytes;
			}
		}
	}
	return copy_to_user((void *)user, &info, sizeof(info)) ? -EFAULT : sysv_highest(&message_queues);
}

long sys_msgctl(int id, int command, uaddr_t user)
{
	command &= ~IPC_64;
	if (command == IPC_INFO || command == MSG_INFO)
		return queue_give_info(user, command == MSG_INFO);
	return sysv_control(&message_queues, id, command, user);
}
