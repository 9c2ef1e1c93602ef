/*
 * Faults for the invariant checker to find, of several processors (test/inject.c): wrong orders of locks, panics at
 * once, and a flush that nobody is asked for.
 */
#include <arch.h>
#include <cpu.h>
#include <irq.h>
#include <lib.h>
#include <outside.h>
#include <shootdown.h>
#include <smp.h>
#include <wait.h>

static struct spinlock one_lock = { .name = "one" }, two_lock = { .name = "two" };

static void take_two(void)
{
	spin_lock(&one_lock);
	spin_lock(&two_lock);
}

static void take_twice(void)
{
	spin_lock(&one_lock);
	spin_lock(&one_lock);
}

/* Other processors that allocate or free a frame wait for this lock then. */
static void take_after_frames(void)
{
	struct spinlock *frames_lock = spinlock_find("frames");

	if (!frames_lock)
		return;
	spin_lock(frames_lock);
	spin_lock(&one_lock);
}

/* System calls hold the kernel lock. */
static void take_kernel_twice(void)
{
	kernel_lock();
}

static void take_kernel_last(void)
{
	kernel_unlock();
	spin_lock(&one_lock);
	kernel_lock();
}

static void take_kernel_outside(void)
{
	kernel_unlock();
	if (outside_enter())
		kernel_lock();
}

static void close_last(void)
{
	spin_lock(&one_lock);
	outside_close();
}

static void take_mutex(struct mutex *mutex, enum mutex_kind kind)
{
	mutex_init(mutex, kind);
	(void)mutex_lock_killable(mutex);
}

static void take_earlier_mutex(void)
{
	struct mutex earlier, later;

	take_mutex(&later, MUTEX_INODE);
	take_mutex(&earlier, MUTEX_POSITION);
}

static void take_like_mutex(void)
{
	struct mutex first, second;

	take_mutex(&first, MUTEX_INODE);
	take_mutex(&second, MUTEX_INODE);
}

static void take_mutex_last(void)
{
	struct mutex mutex;

	spin_lock(&one_lock);
	take_mutex(&mutex, MUTEX_INODE);
}

static u32 panics_ready;        /* processors that are about to panic */

static void panic_with_others(void)
{
	arch_add(&panics_ready, 1);
	while (*(volatile u32 *)&panics_ready < cpu_count)
		arch_pause();
	panic("check: processor %u panics", cpu_index(this_cpu()));
}

/* All processors panic at once. Each takes the interrupt when it leaves the kernel, so this one lets the lock go. */
static void panic_together(void)
{
	ipi_register(IPI_KINDS - 1, "panic", panic_with_others);
	kernel_unlock();
	ipi_send(cpus_others(), IPI_KINDS - 1);
	panic_with_others();
}

/* The processors that cpus_call() interrupts panic, while the caller waits for their answers. */
static void panic_called(void *argument)
{
	(void)argument;
	panic("check: processor %u panics", cpu_index(this_cpu()));
}

static void panic_in_call(void)
{
	cpus_call(cpus_others(), panic_called, NULL);
}

/*
 * The others are no longer asked to flush. Where tlbie does not reach them, they keep what was unmapped: the machine's
 * sanitizer must report who uses it.
 */
static void ask_nobody(void)
{
	shootdown_ask_nobody();
}

static const struct {
	const char *name;
	void (*make)(void);
} fault_kinds[] = {
	{ "lock-two", take_two },
	{ "lock-twice", take_twice },
	{ "lock-frames", take_after_frames },
	{ "lock-kernel-twice", take_kernel_twice },
	{ "lock-kernel-last", take_kernel_last },
	{ "lock-kernel-outside", take_kernel_outside },
	{ "lock-close-last", close_last },
	{ "lock-mutex", take_earlier_mutex },
	{ "lock-mutex-twice", take_like_mutex },
	{ "lock-mutex-last", take_mutex_last },
	{ "shootdown", ask_nobody },
	{ "panic-together", panic_together },
	{ "panic-in-call", panic_in_call },
};

bool several_fault(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(fault_kinds); i++)
		if (strcmp(fault_kinds[i].name, name) == 0) {
			fault_kinds[i].make();
			return true;
		}
	return arch_lock_fault(name);
}
