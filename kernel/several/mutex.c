/* Mutexes with kernel.lock=fine: how often those of a kind were waited for, and with check=on their order. */
#include <arch.h>
#include <cpu.h>
#include <lib.h>
#include <smp.h>
#include <task.h>
#include <text.h>
#include <wait.h>

/* All mutexes of one kind. */
static struct {
	const char *name;
	u32 times, contended;   /* how often one was locked, and had to be waited for */
	u64 waited;             /* ticks of the timebase */
} mutex_counts[MUTEX_KINDS] = {
	[MUTEX_POSITION] = { "position" },
	[MUTEX_PIPE_READ] = { "pipe-read" },
	[MUTEX_PIPE_WRITE] = { "pipe-write" },
	[MUTEX_STREAM_TAKE] = { "stream-take" },
	[MUTEX_STREAM_PUT] = { "stream-put" },
	[MUTEX_INODE] = { "inode" },
	[MUTEX_FILE_LOCK] = { "file-lock" },
};

static void check_order(enum mutex_kind kind)
{
	const char *held = spinlock_held();

	if (!held && current->mutexes && current->mutexes->kind >= kind)
		held = mutex_counts[current->mutexes->kind].name;
	if (held)
		panic("lock order: \"%s\" is taken while \"%s\" is held", mutex_counts[kind].name, held);
}

NOINLINE long mutex_lock_counted(struct mutex *mutex)
{
	u32 since = arch_timebase_low();
	long result = 0;

	if (boot.check)
		check_order(mutex->kind);
	mutex_counts[mutex->kind].times++;
	if (mutex->owner) {
		mutex_counts[mutex->kind].contended++;
		result = mutex_wait_killable(mutex);
		mutex_counts[mutex->kind].waited += arch_timebase_low() - since;
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
	for (unsigned i = 0; i < MUTEX_KINDS; i++)
		lock_show(text, mutex_counts[i].name, mutex_counts[i].times, mutex_counts[i].contended,
			  mutex_counts[i].waited);
}
