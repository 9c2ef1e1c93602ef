/*
 * Files in flight. A program could use them to make the kernel recurse or lose memory, in two ways:
 *
 * - A file that is closed may be a socket whose queue holds further files, to any depth. So rights_free() leaves the
 *   files for the end of the call.
 * - A socket may be in its own queue, or two sockets in each other's queues. Their reference counts never become 0. So
 *   collect_unreachable() finds the sockets that only queues of such sockets refer to, and frees them.
 */
#include <account.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <task.h>
#include <window.h>

#include "rights.h"
#include "socket.h"

#define LOCK_BYTES 64u          /* what a file lock takes */
/*
 * So many sockets in flight may a search look at for each message with files, for each closed socket and for each task
 * that ends. With more in flight, only one of several starts a search, so that the sockets of strangers cost it little.
 */
#define LOOKS_FOR_CALL 16u
#define LOOKS_FOR_EXIT 256u

static struct deferred deferred_collection;
static bool collect_deferred;   /* `deferred_collection` is left for the end of some task's call */
static void collect_later(void);

/* Sockets in flight, by flight.link. */
static struct list_head flying_sockets = LIST_HEAD_INIT(flying_sockets);
static u32 flying_count;
static u32 looks_due;   /* looks at sockets that were earned since the last search */

static struct socket *unix_socket_of(const struct file *file)
{
	struct socket *socket = socket_of(file);

	return socket && socket->family == AF_UNIX ? socket : NULL;
}

/*
 * The search for sockets that nobody can receive. Programs decide how many sockets it looks at, so other tasks run
 * between two of them, and may send, receive and close. What a search has found cannot change: nobody can receive from
 * these sockets. It must not find too much:
 *
 * - A socket that begins to fly, or whose message leaves a queue, during the search is kept, with all that its queue
 *   holds (keep_socket()).
 * - So a socket that is not kept has been in the same messages from the beginning, and these in the same queues. If all
 *   of them were counted, the socket can be received only from sockets that fly. If one of those was received
 *   meanwhile, the socket is kept.
 */
static struct {
	bool running;                   /* a task searches, or empties the queues that it has found */
	bool looking;                   /* it searches: sockets that move meanwhile are kept */
	u32 round;                      /* counts the searches */
	struct list_head place;         /* in flying_sockets, behind the socket that was looked at last */
	struct list_head work;          /* sockets to keep whose queues are still to be searched; by flight.work */
} flight_search = { .work = LIST_HEAD_INIT(flight_search.work) };

/* What a search knows of a socket when it meets it first. */
static void meet_socket(struct socket *socket)
{
	if (socket->flight.round == flight_search.round)
		return;
	socket->flight.round = flight_search.round;
	socket->flight.kept = false;
	socket->flight.outside = socket->flight.count;
}

static void keep_socket(struct socket *socket)
{
	meet_socket(socket);
	if (socket->flight.kept)
		return;
	socket->flight.kept = true;
	list_add_tail(&socket->flight.work, &flight_search.work);
}

static void flight_begin(struct file *file)
{
	struct socket *socket = unix_socket_of(file);

	if (!socket)
		return;
	if (socket->flight.count++ == 0) {
		list_add_tail(&socket->flight.link, &flying_sockets);
		flying_count++;
	}
	if (flight_search.looking)
		keep_socket(socket);
}

/* Whether all references to a socket are in flight, so that sockets may be in each other's queues only. */
static bool is_candidate(const struct socket *socket)
{
	return socket->flight.count && socket->file->refs == socket->flight.count;
}

/* A socket that from now on is only in queues may be in those of sockets that nobody can receive. */
static void flight_end(struct file *file)
{
	struct socket *socket = unix_socket_of(file);

	if (socket && --socket->flight.count == 0) {
		list_del(&socket->flight.link);
		flying_count--;
	} else if (socket && file->refs - 1 == socket->flight.count) {
		collect_later();
	}
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

static void count_inside(struct rights *rights, void *unused)
{
	(void)unused;
	for_each_window(i, 0, i < rights->count) {
		struct socket *socket = unix_socket_of(rights->file[i]);

		if (!socket)
			continue;
		meet_socket(socket);
		socket->flight.outside--;
	}
}

static void keep_files(struct rights *rights, void *unused)
{
	(void)unused;
	for_each_window(i, 0, i < rights->count) {
		struct socket *socket = unix_socket_of(rights->file[i]);

		if (socket)
			keep_socket(socket);
	}
}

/* Calls the function for each socket in flight, and lets other tasks run in between. */
static void each_flying(void (*look)(struct socket *, void *), void *argument)
{
	list_add(&flight_search.place, &flying_sockets);
	while (flight_search.place.next != &flying_sockets) {
		struct socket *socket = list_entry(flight_search.place.next, struct socket, flight.link);

		list_del(&flight_search.place);
		list_add(&flight_search.place, &socket->flight.link);
		look(socket, argument);
		preemption_point();
	}
	list_del(&flight_search.place);
}

/* Counts the references to sockets from a candidate's queue. */
static void count_from(struct socket *socket, void *unused)
{
	(void)unused;
	if (is_candidate(socket))
		unix_each_rights(socket, count_inside, NULL);
}

/* Keeps a socket that a program has, or that is in a message elsewhere. */
static void keep_root(struct socket *socket, void *unused)
{
	(void)unused;
	meet_socket(socket);
	if (!is_candidate(socket) || socket->flight.outside)
		keep_socket(socket);
}

/* The list of found sockets holds a reference to each. */
static void take_found(struct socket *socket, void *found)
{
	if (socket->flight.kept)
		return;
	list_add_tail(&socket->flight.work, found);
	file_get(socket->file);
}

static void find_unreachable(struct list_head *found)
{
	struct socket *socket;

	flight_search.round++;
	flight_search.looking = true;
	each_flying(count_from, NULL);
	each_flying(keep_root, NULL);
	list_until_empty_meanwhile(socket, &flight_search.work, flight.work) {
		list_del(&socket->flight.work);
		unix_each_rights(socket, keep_files, NULL);
	}
	/* A socket that is in motion now may join meanwhile: a program still holds it, so it is kept. */
	each_flying(take_found, found);
	flight_search.looking = false;
	list_until_empty_window(socket, &flight_search.work, flight.work)
		list_del(&socket->flight.work);
}

static void collect_unreachable(void)
{
	struct list_head found = LIST_HEAD_INIT(found);
	struct socket *socket;

	/* What moves during a search that already runs is left for a later one: `looks_due` stays. */
	if (list_empty(&flying_sockets) || flight_search.running)
		return;
	looks_due = 0;
	flight_search.running = true;
	find_unreachable(&found);
	list_until_empty_meanwhile(socket, &found, flight.work) {
		list_del(&socket->flight.work);
		unix_each_rights(socket, rights_empty, NULL);
		file_put(socket->file);
	}
	flight_search.running = false;
}

void rights_taken(struct rights *rights)
{
	if (flight_search.looking)
		keep_files(rights, NULL);
}

void rights_accepted(struct socket *embryo)
{
	if (flight_search.looking && embryo->family == AF_UNIX)
		unix_each_rights(embryo, keep_files, NULL);
}

struct rights *rights_peek(struct rights *rights)
{
	rights_taken(rights);
	rights->peeks++;
	return rights;
}

void rights_free(struct rights *rights)
{
	if (rights->peeks) {
		rights->peeks--;
		return;
	}
	defer(&rights->freeing, close_files);
}

/* After all other work, so that a chain of sockets that close each other is searched once, not at each link. */
static void collect_now(struct deferred *work)
{
	if (!list_empty(&current->deferred)) {
		defer(work, collect_now);
		return;
	}
	collect_deferred = false;
	collect_unreachable();
}

static void collect_later(void)
{
	if (collect_deferred)
		return;
	collect_deferred = true;
	defer(&deferred_collection, collect_now);
}

static bool search_is_due(u32 looks)
{
	if (list_empty(&flying_sockets))
		return false;
	looks_due += looks;
	return looks_due >= flying_count;
}

void rights_socket_closed(void)
{
	if (search_is_due(LOOKS_FOR_CALL))
		collect_later();
}

void rights_task_ends(void)
{
	if (search_is_due(LOOKS_FOR_EXIT))
		collect_unreachable();
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
	struct rights *r = *rights;

	if (!r)
		r = *rights = rights_new(MIN(room, RIGHTS_MAX));
	if (!r)
		return -ENOMEM;
	if (count > r->room - r->count)
		return -EINVAL;
	if (search_is_due(LOOKS_FOR_CALL) || too_many(r->account))
		collect_unreachable();
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
	struct list_head work;  /* sockets whose queues are still to be searched; linked by flight.weigh */
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

	for_each_window(i, 0, i < files->size) {
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
