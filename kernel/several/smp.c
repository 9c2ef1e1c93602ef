/* Several processors: locks, calls from one to others, and starting them (smp.h). */
#include <arch.h>
#include <context.h>
#include <cpu.h>
#include <irq.h>
#include <kmalloc.h>
#include <lib.h>
#include <mmu.h>
#include <outside.h>
#include <procfs.h>
#include <sched.h>
#include <shootdown.h>
#include <smp.h>
#include <task.h>
#include <text.h>

#include "../task/internal.h"

u32 cpu_count = 1;

/* The processor that boots has it from the start. */
struct kernel_lock kernel_lock_words = { .next = 1, .holder = &cpus[0] };

/*
 * Pauses between two reads of a lock's word, so that waiting does not take its cache line from the holder again and
 * again.
 */
#define PAUSE 16u

static void spin_pause(void)
{
	for (u32 i = 0; i < PAUSE; i++)
		arch_pause();
}

static inline void kernel_lock_take(void)
{
	struct kernel_lock *lock = &kernel_lock_words;
	u32 ticket = arch_add(&lock->next, 1), since;

	if (lock->serving == ticket) {
		arch_acquired();
	} else {
		since = arch_timebase_low();
		do {
			cpus_answer();
			spin_pause();
		} while (lock->serving != ticket);
		arch_acquired();
		lock->contended++;
		lock->waited += arch_timebase_low() - since;
	}
	lock->holder = this_cpu();
	lock->times++;
	shootdown_entered();
}

REPLACED void kernel_lock(void)
{
	kernel_lock_take();
}

void kernel_unlock(void)
{
	struct kernel_lock *lock = &kernel_lock_words;

	ASSERT(lock->holder == this_cpu());
	lock->holder = NULL;
	arch_memory_barrier();
	lock->serving++;
}

bool kernel_lock_held(void)
{
	return kernel_lock_words.holder == this_cpu();
}

void kernel_lock_again(void)
{
	if (!kernel_lock_held())
		kernel_lock();
}

/*
 * With kernel.lock=fine a fault of a program is served without the lock if it can be; its handler takes the lock
 * otherwise. The kernel itself is interrupted only in a window, where it holds the lock, and when it dozes, where it
 * does not.
 */
void kernel_enter(struct regs *regs)
{
	if (regs_user(regs) ? !(outside_bound() && regs_fault(regs)) : this_cpu()->dozing)
		kernel_lock();
}

/*
 * An interrupt between processors comes without the lock, but may leave the task work to do. Interrupts are off between
 * the last look at the work and the return to the program: a processor that adds work later sends an interrupt.
 */
void kernel_leave(struct regs *regs)
{
	if (regs_user(regs)) {
		while (current->work) {
			if (!kernel_lock_held())
				kernel_lock();
			return_to_user(regs);
		}
	} else if (current->fault_apart == regs) {
		/* A copy ran without the kernel lock, and its fault took the lock: the copy goes on without it. */
		current->fault_apart = NULL;
	} else if (!this_cpu()->dozing) {
		return;
	}
	if (kernel_lock_held())
		kernel_unlock();
}

bool kernel_lock_wanted(void)
{
	return kernel_lock_words.next != kernel_lock_words.serving + 1;
}

void kernel_lock_pass(void)
{
	if (kernel_lock_wanted()) {
		kernel_unlock();
		kernel_lock();
	}
}

static bool panic_stopping;     /* a panic asks the processors to stop, one by one */

/* Prints what this processor does, and does no more. */
void cpu_stop(const struct regs *regs)
{
	struct cpu *cpu = this_cpu();

	cpu->stopping = true;
	console_printf("processor %u: task %d \"%s\"\n", cpu_index(cpu), current->pid, current->name);
	arch_show_regs(regs);
	arch_show_stack(regs);
	arch_memory_barrier();
	*(volatile bool *)&cpu->stopped = true;
	for (;;)
		spin_pause();
}

static bool asked_to_stop(const struct cpu *cpu)
{
	return *(volatile bool *)&cpu->asked_to_stop;
}

void cpu_stop_if_panic(void)
{
	const struct cpu *cpu = this_cpu();

	if (asked_to_stop(cpu) && !cpu->stopping)
		cpu_stop(cpu->interrupted);
}

void cpu_wait_to_stop(void)
{
	struct cpu *cpu = this_cpu();

	arch_leave_locks();
	/* A second panic while it prints: it does no more, and the first processor goes on after a time. */
	while (cpu->stopping || !asked_to_stop(cpu))
		spin_pause();
	cpu->stopping = true;
}

/* Below the kernel lock, for locks_show(): a queue of each processor, jobs, frames, hash, and two of tests. */
static struct spinlock *known_spinlocks[CPUS + 5];

void lock_register(struct spinlock *lock)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known_spinlocks) && known_spinlocks[i] != lock; i++)
		if (!known_spinlocks[i]) {
			known_spinlocks[i] = lock;
			return;
		}
}

struct spinlock *spinlock_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known_spinlocks) && known_spinlocks[i]; i++)
		if (strcmp(known_spinlocks[i]->name, name) == 0)
			return known_spinlocks[i];
	return NULL;
}

const char *spinlock_held(void)
{
	const struct cpu *cpu = this_cpu();

	return cpu->lock_held ? cpu->lock_held->name : cpu->outside ? "outside" : NULL;
}

void lock_wait(struct spinlock *lock, u32 holder)
{
	u32 since = arch_timebase_low();

	do {
		while (*(volatile u32 *)&lock->taken) {
			cpu_stop_if_panic();
			spin_pause();
		}
	} while (!arch_exchange_if(&lock->taken, 0, holder));
	lock->contended++;
	lock->waited += arch_timebase_low() - since;
}

static inline void lock_take(struct spinlock *lock)
{
	if (!arch_exchange_if(&lock->taken, 0, 1))
		lock_wait(lock, 1);
	arch_acquired();
	if (!lock->times++)
		lock_register(lock);
}

static inline void lock_give(struct spinlock *lock)
{
	arch_memory_barrier();
	*(volatile u32 *)&lock->taken = 0;
}

REPLACED void spin_lock(struct spinlock *lock)
{
	lock_take(lock);
}

REPLACED void spin_unlock(struct spinlock *lock)
{
	lock_give(lock);
}

/* With check=on, these are in their place. */
static void kernel_lock_checked(void)
{
	const struct cpu *cpu = this_cpu();

	if (cpu->outside || cpu->lock_held || kernel_lock_held())
		panic("lock order: \"kernel\" is taken while \"%s\" is held",
		      cpu->outside ? "outside" : cpu->lock_held ? cpu->lock_held->name : "kernel");
	kernel_lock_take();
}

void lock_check(const struct spinlock *lock)
{
	const struct spinlock *held = this_cpu()->lock_held;

	if (held && (held->last || !lock->last))
		panic("lock order: \"%s\" is taken while \"%s\" is held", lock->name, held->name);
}

void lock_note_held(struct spinlock *lock)
{
	lock->above = this_cpu()->lock_held;
	this_cpu()->lock_held = lock;
}

void lock_note_left(const struct spinlock *lock)
{
	this_cpu()->lock_held = lock->above;
}

static void spin_lock_checked(struct spinlock *lock)
{
	lock_check(lock);
	lock_take(lock);
	lock_note_held(lock);
}

static void spin_unlock_checked(struct spinlock *lock)
{
	lock_note_left(lock);
	lock_give(lock);
}

void lock_show(struct text *text, const char *name, u32 times, u32 contended, u64 waited)
{
	text_printf(text, "%-12s %10u %10u %12llu\n", name, times, contended, time_ticks_to_ns(waited));
}

static void locks_show(struct text *text)
{
	const struct kernel_lock *lock = &kernel_lock_words;

	text_puts(text, "lock              taken  contended    waited_ns\n");
	lock_show(text, "kernel", lock->times, lock->contended, lock->waited);
	outside_show(text);
	mutexes_show(text);
	for (unsigned i = 0; i < ARRAY_SIZE(known_spinlocks) && known_spinlocks[i]; i++) {
		const struct spinlock *known = known_spinlocks[i];

		lock_show(text, known->name, known->times, known->contended, known->waited);
	}
}

u32 cpus_others(void)
{
	u32 others = 0;

	for_each_cpu(cpu)
		if (cpu != this_cpu())
			others |= 1u << cpu->number;
	return others;
}

u32 cpus_using(const struct mm *mm)
{
	u32 using = 0;

	for_each_cpu(cpu)
		if (cpu != this_cpu() && cpu->mm == mm)
			using |= 1u << cpu->number;
	return using;
}

/* The call that is being made. The kernel lock keeps it to one at a time. */
static struct {
	void (*function)(void *argument);
	void *argument;
} current_call;

void cpus_call(u32 targets, void (*function)(void *argument), void *argument)
{
	if (!targets)
		return;
	current_call.function = function;
	current_call.argument = argument;
	arch_memory_barrier();
	for_each_cpu(cpu)
		if (targets & 1u << cpu->number)
			*(volatile u32 *)&cpu->called = 1;
	ipi_send(targets, IPI_LOOK);
	for_each_cpu(cpu)
		while (*(volatile u32 *)&cpu->called) {
			cpu_stop_if_panic();
			spin_pause();
		}
}

static volatile u32 holds_open; /* calls of cpus_hold() that no cpus_release() has ended */

void cpus_answer(void)
{
	struct cpu *cpu = this_cpu();

	if (*(volatile u32 *)&cpu->called) {
		cpu_stop_if_panic();
		arch_acquired();
		if (holds_open) {
			/* The holder may wait for flushes that this processor still owes (shootdown=generation). */
			shootdown_answer();
			/*
			 * In the loop: a second hold may begin before this processor sees the first end. It answers
			 * both.
			 */
			while (holds_open) {
				cpu_stop_if_panic();
				*(volatile u32 *)&cpu->called = 0;
				spin_pause();
			}
			arch_follow();
		} else {
			current_call.function(current_call.argument);
			arch_memory_barrier();
			*(volatile u32 *)&cpu->called = 0;
		}
	}
	shootdown_answer();
}

#define STOP_WAIT_NS (100 * NSEC_PER_MSEC)

void cpus_stop(void)
{
	u64 until;

	if (panic_stopping || cpu_count == 1)
		return;
	arch_leave_locks();
	panic_stopping = true;
	this_cpu()->stopping = this_cpu()->stopped = true;
	arch_memory_barrier();
	for_each_cpu(cpu) {
		if (cpu->stopped)
			continue;
		*(volatile bool *)&cpu->asked_to_stop = true;
		arch_memory_barrier();
		*(volatile u32 *)&cpu->called = 1;
		ipi_send(1u << cpu->number, IPI_LOOK);
		until = time_now_ns() + STOP_WAIT_NS;
		while (!*(volatile bool *)&cpu->stopped && time_now_ns() < until) {
			/* It may just have answered another call. */
			*(volatile u32 *)&cpu->called = 1;
			spin_pause();
		}
		if (!cpu->stopped)
			console_printf("processor %u does not answer; it runs task %d \"%s\"\n", cpu_index(cpu),
				       cpu->running->pid, cpu->running->name);
	}
}

static void call_followed(void *argument)
{
	(void)argument;
}

void cpus_hold(void)
{
	if (cpu_count == 1 || holds_open++)
		return;
	cpus_call(cpus_others(), NULL, NULL);
}

void cpus_release(void)
{
	if (cpu_count == 1 || holds_open > 1) {
		holds_open -= cpu_count > 1;
		return;
	}
	arch_lead();
	arch_memory_barrier();
	holds_open = 0;
	/* Until they have followed, they may insert translations of the kernel that are no longer right. */
	cpus_call(cpus_others(), call_followed, NULL);
	mmu->flush_all();
}

/* The processor that interrupts has set the request before. */
static void call_look(void)
{
	cpus_answer();
}

struct cpu *smp_add(u32 number)
{
	struct cpu *cpu = &cpus[cpu_count];
	struct task *idle;

	if (cpu_count == CPUS)
		return NULL;
	idle = kzalloc(sizeof(*idle));
	if (!idle)
		return NULL;
	idle->kernel_stack = kmalloc(KERNEL_STACK_SIZE);
	if (!idle->kernel_stack) {
		kfree(idle);
		return NULL;
	}
	stack_mark(idle);
	idle->cpu = cpu;
	idle->affinity = ~0u;
	idle_init(idle);
	cpu->running = cpu->idle = idle;
	cpu->active = &cpu->turns[0];
	cpu->expired = &cpu->turns[1];
	list_init(&cpu->turns[0]);
	list_init(&cpu->turns[1]);
	list_init(&cpu->last);
	list_init(&cpu->urgent);
	cpu->number = number;
	return cpu;
}

void smp_init(void)
{
	ipi_register(IPI_LOOK, "look", call_look);
	ipi_register(IPI_FLUSH, "flush", shootdown_answer);
	arch_start_others();
	proc_file("locks/contention", locks_show, NULL);
	if (boot.check) {
		arch_replace((const void *)kernel_lock, (const void *)kernel_lock_checked);
		arch_replace((const void *)spin_lock, (const void *)spin_lock_checked);
		arch_replace((const void *)spin_unlock, (const void *)spin_unlock_checked);
	}
	context_restart();
}

/* The processor that starts this one holds the kernel lock until all have started. */
void smp_main(void)
{
	struct cpu *cpu = this_cpu();

	arch_memory_barrier();
	*(volatile bool *)&cpu->online = true;
	kernel_lock();
	arch_follow();
	time_init_cpu();
	idle_loop();
}
