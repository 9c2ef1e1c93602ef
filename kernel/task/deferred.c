/* Work that a call leaves for its end. */
#include <cpu.h>
#include <deferred.h>
#include <lib.h>
#include <task.h>
#include <window.h>

void defer(struct deferred *work, void (*run)(struct deferred *))
{
	/* Interrupt handlers, which may interrupt the idle task, drop no references. */
	ASSERT(current != this_cpu()->idle);
	work->run = run;
	list_init(&work->link);
	list_add_tail(&work->link, &current->deferred);
	current->work |= WORK_DEFERRED;
}

void deferred_run(void)
{
	struct deferred *work;

	current->work &= ~WORK_DEFERRED;
	list_until_empty_meanwhile(work, &current->deferred, link) {
		list_del(&work->link);
		work->run(work);
	}
	current->work &= ~WORK_DEFERRED;
}
