/* Waiting for several files at once. */
#include <arch.h>
#include <sched.h>
#include <task.h>
#include <wait.h>
#include <window.h>

#include "readiness.h"

#define FIRST_PLACES 8u
#define CHUNK_PLACES 64u

u32 poll_queue_changes;

struct sleeper;

/* A queue in which the sleeper waits. */
struct place {
	struct waiter waiter;
	struct sleeper *sleeper;
};

struct chunk {
	struct chunk *next;
	u32 used;
	struct place place[CHUNK_PLACES];
};

/* The queues in which a caller waits; the first few need no allocation. */
struct sleeper {
	struct poll_table table;
	struct task *task;
	bool woken, no_memory;
	u32 used;
	struct place first[FIRST_PLACES];
	struct chunk *chunks;
};

static void readiness_wake(struct waiter *waiter)
{
	struct sleeper *s = container_of(waiter, struct place, waiter)->sleeper;

	s->woken = true;
	task_wake(s->task);
}

static struct place *new_place(struct sleeper *s)
{
	struct chunk *c = s->chunks;

	if (s->used < FIRST_PLACES)
		return &s->first[s->used++];
	if (!c || c->used == CHUNK_PLACES) {
		c = call_alloc(sizeof(*c));
		if (!c)
			return NULL;
		c->used = 0;
		c->next = s->chunks;
		s->chunks = c;
	}
	return &c->place[c->used++];
}

static void sleeper_add(struct poll_table *table, struct waitq *queue)
{
	struct sleeper *s = container_of(table, struct sleeper, table);
	struct place *p = new_place(s);

	if (!p) {
		s->no_memory = true;
		return;
	}
	p->sleeper = s;
	waiter_init(&p->waiter);
	p->waiter.wake = readiness_wake;
	waitq_add(queue, &p->waiter);
}

static void sleeper_leave(struct sleeper *s)
{
	for (u32 i = 0; i < s->used; i++)
		waitq_remove(&s->first[i].waiter);
	while (s->chunks) {
		struct chunk *c = s->chunks;

		interrupt_window();
		for (u32 i = 0; i < c->used; i++)
			waitq_remove(&c->place[i].waiter);
		s->chunks = c->next;
		call_free(c, sizeof(*c));
	}
}

/* Polls every file; registers in their queues as long as none is ready. */
static long poll_scan(struct poll_entry *entry, u32 count, struct poll_table *table)
{
	long ready = 0;

	for_each_window(i, 0, i < count) {
		if (entry->file) {
			u32 wanted = entry->events | POLLERR | POLLHUP;

			entry->ready = (u16)(file_poll(entry->file, table) & wanted);
		}
		if (entry->ready) {
			ready++;
			table = NULL;
		}
		entry++;
	}
	return ready;
}

long poll_entries(struct poll_entry *entry, u32 count, u64 deadline)
{
	struct sleeper s;
	u32 changes = poll_queue_changes;
	long ready, result = 0;

	s.table.add = sleeper_add;
	s.task = current;
	s.no_memory = false;
	s.used = 0;
	s.chunks = NULL;
	s.woken = false;
	ready = poll_scan(entry, count, &s.table);
	while (!ready && !result && !s.no_memory) {
		result = sleep_interruptible(&s.woken, deadline);
		s.woken = false;
		if (changes == poll_queue_changes) {
			ready = poll_scan(entry, count, NULL);
		} else {
			changes = poll_queue_changes;
			sleeper_leave(&s);
			s.used = 0;
			ready = poll_scan(entry, count, &s.table);
		}
	}
	sleeper_leave(&s);
	if (ready)
		return ready;
	if (s.no_memory)
		return -ENOMEM;
	return result == -ETIMEDOUT ? 0 : -ERESTARTNOHAND;
}

void poll_entries_put(struct poll_entry *entry, u32 count)
{
	for_each_window(i, 0, i < count) {
		file_put(entry[i].file);
	}
}

u64 poll_deadline(u64 timeout_ns)
{
	return timeout_ns ? time_deadline(timeout_ns) : 0;
}
