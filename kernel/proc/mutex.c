/* Mutual exclusion across sleeps. */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <panic.h>
#include <smp.h>
#include <task.h>
#include <text.h>
#include <wait.h>

void mutex_init(struct mutex *mutex, struct mutex_kind *kind)
{
	mutex->owner = NULL;
	mutex->kind = kind;
	waitq_init(&mutex->wq);
}

long mutex_wait_killable(struct mutex *mutex)
{
	long result = wait_event_killable(&mutex->wq, !mutex->owner);

	if (!result)
		mutex->owner = current;
	return result;
}

/* Kinds with a mutex that was locked. */
static struct mutex_kind *known_kinds;

static void check_order(const struct mutex_kind *kind)
{
	const struct spinlock *spinlock = this_cpu()->lock_held;
	const char *held = spinlock ? spinlock->name : this_cpu()->outside ? "outside" : NULL;

	if (!held && current->mutexes && current->mutexes->kind->place >= kind->place)
		held = current->mutexes->kind->name;
	if (held)
		panic("lock order: \"%s\" is taken while \"%s\" is held", kind->name, held);
}

NOINLINE long mutex_lock_counted(struct mutex *mutex)
{
	struct mutex_kind *kind = mutex->kind;
	long result = 0;

	if (boot.check)
		check_order(kind);
	if (!kind->times++) {
		kind->next = known_kinds;
		known_kinds = kind;
	}
	if (mutex->owner) {
		u32 since = arch_timebase_low();

		kind->contended++;
		result = mutex_wait_killable(mutex);
		kind->waited += arch_timebase_low() - since;
	} else {
		mutex->owner = current;
	}
	if (boot.check && !result) {
		mutex->above = current->mutexes;
		current->mutexes = mutex;
	}
	return result;
}

NOINLINE void mutex_left(struct mutex *mutex)
{
	if (!boot.check)
		return;
	ASSERT(current->mutexes == mutex);
	current->mutexes = mutex->above;
}

void mutexes_show(struct text *text)
{
	for (const struct mutex_kind *kind = known_kinds; kind; kind = kind->next)
		lock_show(text, kind->name, kind->times, kind->contended, kind->waited);
}
