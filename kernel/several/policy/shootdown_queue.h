/* The queues of shootdown=queue, for the forms queue and queue+own. Inlined, so that they are as short as OpenBSD's. */
#ifndef SHOOTDOWN_QUEUE_H
#define SHOOTDOWN_QUEUE_H
#include <arch.h>
#include <cpu.h>
#include <smp.h>
#include <types.h>

#include "../shootdown.h"

#define JOBS_MOST 16u   /* in a queue */

struct flush_job {
	struct flush_job *next;
	struct mm *mm;                  /* NULL: the kernel's own page */
	uaddr_t page;
};

/* The jobs that no queue holds. There are enough to fill every queue. */
extern struct queue_jobs {
	struct spinlock lock;
	struct flush_job *returned;
	u32 used;                       /* of the array, at least once */
	struct flush_job all[CPUS * JOBS_MOST];
} queue_jobs;

/* Gives the lock of a processor's queue its name, for /proc/locks/contention and panics. */
void queue_name(struct cpu *cpu);
void queue_flush(u32 targets, const struct flush_request *request);
void queue_answer(void);

/* The original's mutexes raise the level while they are held. */
static inline u32 lock_at_level(struct spinlock *lock)
{
	u32 level = arch_level_raise(ARCH_LEVEL_IPI);

	spin_lock(lock);
	return level;
}

static inline void unlock_at_level(struct spinlock *lock, u32 level)
{
	spin_unlock(lock);
	arch_level_set(level);
}

static inline struct flush_job *job_take(void)
{
	u32 level = lock_at_level(&queue_jobs.lock);
	struct flush_job *job = queue_jobs.returned;

	if (job)
		queue_jobs.returned = job->next;
	else
		job = &queue_jobs.all[queue_jobs.used++];
	unlock_at_level(&queue_jobs.lock, level);
	return job;
}

static inline void job_return(struct flush_job *job)
{
	u32 level = lock_at_level(&queue_jobs.lock);

	job->next = queue_jobs.returned;
	queue_jobs.returned = job;
	unlock_at_level(&queue_jobs.lock, level);
}

/* With the queue's lock: gives all jobs back. */
static inline void queue_empty(struct cpu *cpu)
{
	while (cpu->flushes.jobs) {
		struct flush_job *job = cpu->flushes.jobs;

		cpu->flushes.jobs = job->next;
		job_return(job);
	}
	cpu->flushes.count = 0;
}

/* Takes the queue's lock. A full queue becomes "everything". */
static inline void queue_put(struct cpu *cpu, struct mm *mm, uaddr_t page)
{
	u32 level = lock_at_level(&cpu->flushes.lock);

	if (cpu->flushes.count == JOBS_MOST) {
		cpu->flushes.all = true;
		queue_empty(cpu);
	}
	if (!cpu->flushes.all) {
		struct flush_job *job = job_take();

		*job = (struct flush_job){ cpu->flushes.jobs, mm, page };
		cpu->flushes.jobs = job;
		cpu->flushes.count++;
	}
	unlock_at_level(&cpu->flushes.lock, level);
}

#endif
