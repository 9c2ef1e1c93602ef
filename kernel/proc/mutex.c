/* Mutual exclusion across sleeps. */
#include <task.h>
#include <wait.h>

void mutex_init(struct mutex *mutex)
{
	mutex->owner = NULL;
	waitq_init(&mutex->wq);
}

long mutex_lock_killable(struct mutex *mutex)
{
	long result = wait_event_killable(&mutex->wq, !mutex->owner);

	if (!result)
		mutex->owner = current;
	return result;
}

void mutex_unlock(struct mutex *mutex)
{
	mutex->owner = NULL;
	wake_up_one(&mutex->wq);
}
