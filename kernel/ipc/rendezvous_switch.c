/*
 * Forms of the switch from a thread that begins to wait to the thread that its message has woken (policy ipc.switch).
 */
#include <lib.h>
#include <rendezvous.h>
#include <sched.h>
#include <task.h>

u64 rendezvous_direct;
void (*rendezvous_switch)(struct task *next) = rendezvous_switch_queue;

CAUSE(switch) void rendezvous_switch_queue(struct task *next)
{
	if (next)
		task_wake(next);
	schedule();
}

CAUSE(switch) void rendezvous_switch_direct(struct task *next)
{
	if (next && schedule_to(next))
		rendezvous_direct++;
	else
		rendezvous_switch_queue(next);
}
