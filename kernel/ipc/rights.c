/*
 * Files in flight. Two things keep a program from making the kernel recurse or lose memory by them:
 *
 * - A file that is closed may be a socket whose queue holds further files, to any depth. Their rights go to a list,
 *   which the outermost rights_free() empties.
 * - A socket may be in its own queue, or in that of another that is in its own. Its count of references never comes to
 *   0. rights_collect() finds those that only queues of such sockets refer to.
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

#define COLLECT_EACH 64u	/* messages with files: what nobody can receive holds no more memory than these */

static struct list_head dropped = LIST_HEAD_INIT(dropped);
static bool dropping;		/* somebody empties the list */
static bool collect_wanted;

/* Sockets that are in flight, by flight.link. */
static struct list_head flying = LIST_HEAD_INIT(flying);

static struct socket *unix_socket_of(const struct file *f)
{
	struct socket *s = socket_of(f);

	return s && s->family == AF_UNIX ? s : NULL;
}

static void take_off(struct file *f)
{
	struct socket *s = unix_socket_of(f);

	if (s && s->flight.count++ == 0)
		list_add_tail(&s->flight.link, &flying);
}

static void land(struct file *f)
{
	struct socket *s = unix_socket_of(f);

	if (s && --s->flight.count == 0)
		list_del(&s->flight.link);
	file_put(f);
}

/* The rights keep their place in a queue, without files. */
static void empty(struct rights *r, void *unused)
{
	(void)unused;
	while (r->count) {
		interrupt_window_at(r->count);
		r->account->files_in_flight--;
		land(r->file[--r->count]);
	}
}

static void close_files(struct rights *r)
{
	empty(r, NULL);
	if (r->account) {
		r->account->rights--;
		account_settle(r->account);
	}
	kfree(r);
}

/* Whose references to a candidate are all in flight: they may be in each other's queues. */
static bool is_candidate(const struct socket *s)
{
	return s && s->flight.count && s->file->refs == s->flight.count;
}

/* One reference to a candidate comes from a candidate's queue. */
static void count_inside(struct rights *r, void *unused)
{
	(void)unused;
	for (u32 i = 0; i < r->count; i++) {
		struct socket *s = unix_socket_of(r->file[i]);

		interrupt_window_at(i);
		if (is_candidate(s))
			s->flight.outside--;
	}
}

static void reach(struct socket *s, struct list_head *work)
{
	if (s->flight.reached)
		return;
	s->flight.reached = true;
	list_add_tail(&s->flight.work, work);
}

static void reach_files(struct rights *r, void *work)
{
	for (u32 i = 0; i < r->count; i++) {
		struct socket *s = unix_socket_of(r->file[i]);

		interrupt_window_at(i);
		if (is_candidate(s))
			reach(s, work);
	}
}

/* Follows what can still be received: from candidates that something else than a candidate's queue refers to. */
static void mark(struct list_head *work)
{
	struct socket *s;

	list_for_each_entry(s, &flying, flight.link) {
		s->flight.reached = false;
		s->flight.outside = s->flight.count;
	}
	list_for_each_entry(s, &flying, flight.link) {
		interrupt_window();
		if (is_candidate(s))
			unix_each_rights(s, count_inside, NULL);
	}
	list_for_each_entry(s, &flying, flight.link)
		if (!is_candidate(s) || s->flight.outside)
			reach(s, work);
	while (!list_empty(work)) {
		s = list_first_entry(work, struct socket, flight.work);
		list_del(&s->flight.work);
		interrupt_window();
		unix_each_rights(s, reach_files, work);
	}
}

static void collect(void)
{
	struct list_head work = LIST_HEAD_INIT(work);
	struct socket *s;

	if (list_empty(&flying))
		return;
	mark(&work);
	list_for_each_entry(s, &flying, flight.link)
		if (!s->flight.reached) {
			list_add_tail(&s->flight.work, &work);
			file_get(s->file);
		}
	while (!list_empty(&work)) {
		s = list_first_entry(&work, struct socket, flight.work);
		list_del(&s->flight.work);
		unix_each_rights(s, empty, NULL);
		file_put(s->file);
	}
}

static void close_dropped(void)
{
	if (dropping)
		return;
	dropping = true;
	while (collect_wanted || !list_empty(&dropped)) {
		if (!list_empty(&dropped)) {
			struct rights *r = list_first_entry(&dropped, struct rights, link);

			list_del(&r->link);
			close_files(r);
		} else {
			collect_wanted = false;
			collect();
		}
	}
	dropping = false;
}

void rights_free(struct rights *r)
{
	list_add_tail(&r->link, &dropped);
	close_dropped();
}

void rights_collect(void)
{
	if (list_empty(&flying))
		return;
	collect_wanted = true;
	close_dropped();
}

bool rights_delay(void)
{
	bool first = !dropping;

	dropping = true;
	return first;
}

void rights_continue(bool first)
{
	if (!first)
		return;
	dropping = false;
	collect_wanted = !list_empty(&flying);
	close_dropped();
}

static struct rights *rights_new(u32 room)
{
	struct rights *r = kzalloc(sizeof *r + room * sizeof r->file[0]);

	if (!r)
		return NULL;
	list_init(&r->link);
	r->room = room;
	r->account = account_of(current->cred.uid);
	if (!r->account) {
		kfree(r);
		return NULL;
	}
	r->account->rights++;
	return r;
}

struct rights *rights_mark(void)
{
	struct rights *r = kzalloc(sizeof *r);

	if (r)
		list_init(&r->link);
	return r;
}

static bool too_many(const struct account *a)
{
	return a->files_in_flight > rlimit(RLIMIT_NOFILE) && !capable();
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
		rights_collect();
	}
	if (too_many(r->account))
		return -ETOOMANYREFS;
	for (u32 i = 0; i < count; i++) {
		struct file *f = fd_get(fds[i]);

		if (!f)
			return -EBADF;
		take_off(f);
		r->file[r->count++] = f;
		r->account->files_in_flight++;
	}
	return 0;
}

struct weighing {
	struct list_head work;	/* sockets whose queues are still to be looked at, by flight.weigh */
	u32 round, pages;
};

static void weigh(struct weighing *w, struct file *f)
{
	struct socket *s = unix_socket_of(f);

	if (f->ops->pages_held)
		w->pages += f->ops->pages_held(f) / f->refs;
	if (!s || s->flight.weighed == w->round)
		return;
	s->flight.weighed = w->round;
	list_add_tail(&s->flight.weigh, &w->work);
}

static void weigh_files(struct rights *r, void *weighing)
{
	for (u32 i = 0; i < r->count; i++)
		weigh(weighing, r->file[i]);
}

u32 files_pages_held(const struct files *t)
{
	static u32 round;
	struct weighing w = { .work = LIST_HEAD_INIT(w.work), .round = ++round };

	for (u32 i = 0; i < t->size; i++)
		if (t->slot[i])
			weigh(&w, t->slot[i]);
	while (!list_empty(&w.work)) {
		struct socket *s = list_first_entry(&w.work, struct socket, flight.weigh);

		list_del(&s->flight.weigh);
		unix_each_rights(s, weigh_files, &w);
	}
	return w.pages;
}
