/* Mutual exclusion across sleeps. */
#include <task.h>
#include <wait.h>

void mutex_init(struct mutex *mutex, enum mutex_kind kind)
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
