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
	current->work &= ~WORK_DEFERRED;
	while (!list_empty(&current->deferred)) {
		struct deferred *work = list_first_entry(&current->deferred, struct deferred, link);

		list_del(&work->link);
		work->run(work);
		preemption_point();
	}
	current->work &= ~WORK_DEFERRED;
}
