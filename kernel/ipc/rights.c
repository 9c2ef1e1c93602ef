/*
 * Files in flight. A program could use them to make the kernel recurse or lose memory, in two ways:
 *
 * - A file that is closed may be a socket whose queue holds further files, to any depth. So rights_free() leaves the
 *   files for the end of the call.
 * - A socket may be in its own queue, or two sockets in each other's queues. Their reference counts never become 0. So
 *   collect_unreachable() finds the sockets that only queues of such sockets refer to, and frees them.
 */
#include "rights.h"
#include "socket.h"

#include <account.h>
#include <err.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <task.h>
#include <window.h>

#define LOCK_BYTES 64u		/* what a file lock takes */
#define COLLECT_EACH 64u	/* messages with files between two searches for files that nobody can receive */

static struct deferred deferred_collection;
static bool collect_deferred;	/* `deferred_collection` is left for the end of some task's call */
static bool emptying_queues;	/* true while a task empties the queues that it has found */

/* Sockets in flight, by flight.link. */
static struct list_head flying_sockets = LIST_HEAD_INIT(flying_sockets);

static struct socket *unix_socket_of(const struct file *file)
{
	struct socket *socket = socket_of(file);

	return socket && socket->family == AF_UNIX ? socket : NULL;
}

static void flight_begin(struct file *file)
{
	struct socket *socket = unix_socket_of(file);

	if (socket && socket->flight.count++ == 0)
		list_add_tail(&socket->flight.link, &flying_sockets);
}

static void flight_end(struct file *file)
{
	struct socket *socket = unix_socket_of(file);

	if (socket && --socket->flight.count == 0)
		list_del(&socket->flight.link);
	file_put(file);
}

/* Drops the files; the rights keep their place in the queue. */
static void rights_empty(struct rights *rights, void *unused)
{
	(void)unused;
	while (rights->count) {
		interrupt_window_at(rights->count);
		rights->account->files_in_flight--;
		flight_end(rights->file[--rights->count]);
	}
}

static void close_files(struct deferred *work)
{
	struct rights *rights = container_of(work, struct rights, freeing);

	rights_empty(rights, NULL);
	if (rights->account) {
		rights->account->rights--;
		account_settle(rights->account);
	}
	kfree(rights);
}

/* Whether all references to a socket are in flight, so that sockets may be in each other's queues only. */
static bool is_candidate(const struct socket *socket)
{
	return socket && socket->flight.count && socket->file->refs == socket->flight.count;
}

/* Counts a reference to a candidate from a candidate's queue. */
static void count_inside(struct rights *rights, void *unused)
{
	(void)unused;
	for (u32 i = 0; i < rights->count; i++) {
		struct socket *socket = unix_socket_of(rights->file[i]);

		interrupt_window_at(i);
		if (is_candidate(socket))
			socket->flight.outside--;
	}
}

static void reach_socket(struct socket *socket, struct list_head *work)
{
	if (socket->flight.reached)
		return;
	socket->flight.reached = true;
	list_add_tail(&socket->flight.work, work);
}

static void reach_files(struct rights *rights, void *work)
{
	for (u32 i = 0; i < rights->count; i++) {
		struct socket *socket = unix_socket_of(rights->file[i]);

		interrupt_window_at(i);
		if (is_candidate(socket))
			reach_socket(socket, work);
	}
}

/* Marks sockets that can still be received, starting from candidates with a reference from elsewhere. */
static void mark_reachable(struct list_head *work)
{
	struct socket *socket;
	u32 looked_at = 0;

	list_for_each_entry(socket, &flying_sockets, flight.link) {
		interrupt_window_at(++looked_at);
		socket->flight.reached = false;
		socket->flight.outside = socket->flight.count;
	}
	list_for_each_entry(socket, &flying_sockets, flight.link) {
		interrupt_window();
		if (is_candidate(socket))
			unix_each_rights(socket, count_inside, NULL);
	}
	list_for_each_entry(socket, &flying_sockets, flight.link) {
		interrupt_window_at(++looked_at);
		if (!is_candidate(socket) || socket->flight.outside)
			reach_socket(socket, work);
	}
	while (!list_empty(work)) {
		socket = list_first_entry(work, struct socket, flight.work);
		list_del(&socket->flight.work);
		interrupt_window();
		unix_each_rights(socket, reach_files, work);
	}
}

static void collect_unreachable(void)
{
	struct list_head work = LIST_HEAD_INIT(work);
	struct socket *socket;
	u32 looked_at = 0;

	if (list_empty(&flying_sockets) || emptying_queues)
		return;
	mark_reachable(&work);
	list_for_each_entry(socket, &flying_sockets, flight.link) {
		interrupt_window_at(++looked_at);
		if (!socket->flight.reached) {
			list_add_tail(&socket->flight.work, &work);
			file_get(socket->file);
		}
	}
	/* Nobody can receive these. The list holds a reference to each. */
	emptying_queues = true;
	while (!list_empty(&work)) {
		socket = list_first_entry(&work, struct socket, flight.work);
		list_del(&socket->flight.work);
		unix_each_rights(socket, rights_empty, NULL);
		file_put(socket->file);
		preemption_point();
	}
	emptying_queues = false;
}

void rights_free(struct rights *rights)
{
	defer(&rights->freeing, close_files);
}

static void collect_now(struct deferred *work)
{
	(void)work;
	collect_deferred = false;
	collect_unreachable();
}

void rights_collect_later(void)
{
	if (list_empty(&flying_sockets) || collect_deferred)
		return;
	collect_deferred = true;
	defer(&deferred_collection, collect_now);
}

static struct rights *rights_new(u32 room)
{
	struct rights *rights = kzalloc(sizeof(*rights) + room * sizeof(rights->file[0]));

	if (!rights)
		return NULL;
	list_init(&rights->link);
	rights->room = room;
	rights->account = account_of(current->cred.uid);
	if (!rights->account) {
		kfree(rights);
		return NULL;
	}
	rights->account->rights++;
	return rights;
}

struct rights *rights_mark(void)
{
	struct rights *rights = kzalloc(sizeof(*rights));

	if (rights)
		list_init(&rights->link);
	return rights;
}

static bool too_many(const struct account *account)
{
	return account->files_in_flight > rlimit(RLIMIT_NOFILE) && !capable();
}

long rights_add(struct rights **rights, const s32 *fds, u32 count, u32 room)
{
	static u32 sent;
	struct rights *r = *rights;

	if (!r)
		r = *rights = rights_new(MIN(room, RIGHTS_MAX));
	if (!r)
		return -ENOMEM;
	if (count > r->room - r->count)
		return -EINVAL;
	if (++sent == COLLECT_EACH || too_many(r->account)) {
		sent = 0;
		collect_unreachable();
	}
	if (too_many(r->account))
		return -ETOOMANYREFS;
	for (u32 i = 0; i < count; i++) {
		struct file *file = fd_get(fds[i]);

		if (!file)
			return -EBADF;
		flight_begin(file);
		r->file[r->count++] = file;
		r->account->files_in_flight++;
	}
	return 0;
}

struct weighing {
	struct list_head work;	/* sockets whose queues are still to be searched; linked by flight.weigh */
	u32 round;
	u64 bytes;
};

static void weigh_file(struct weighing *w, struct file *file)
{
	struct socket *socket = unix_socket_of(file);

	w->bytes += ((u32)sizeof(*file) + file->locks * LOCK_BYTES) / file->refs;
	if (socket_of(file))
		w->bytes += SOCKET_BYTES / file->refs;
	if (!file->inode->fs)
		w->bytes += (u32)(sizeof(*file->inode) + sizeof(*file->dentry)) / file->refs;
	if (file->ops->pages_held)
		w->bytes += file->ops->pages_held(file) * PAGE_SIZE / file->refs;
	if (!socket || socket->flight.weighed == w->round)
		return;
	socket->flight.weighed = w->round;
	list_add_tail(&socket->flight.weigh, &w->work);
}

static void weigh_files(struct rights *rights, void *weighing)
{
	interrupt_window();
	for (u32 i = 0; i < rights->count; i++)
		weigh_file(weighing, rights->file[i]);
}

u32 files_pages_held(const struct files *files)
{
	static u32 round;
	struct weighing w = { .work = LIST_HEAD_INIT(w.work), .round = ++round };

	for (u32 i = 0; i < files->size; i++) {
		interrupt_window_at(i);
		if (files->slot[i])
			weigh_file(&w, files->slot[i]);
	}
	while (!list_empty(&w.work)) {
		struct socket *socket = list_first_entry(&w.work, struct socket, flight.weigh);

		list_del(&socket->flight.weigh);
		unix_each_rights(socket, weigh_files, &w);
	}
	w.bytes += files->lock_count * LOCK_BYTES / files->refs;
	return (u32)(w.bytes >> PAGE_SHIFT);
}
