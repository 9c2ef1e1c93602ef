/* The files of /proc about the whole system. Formats: proc(5). */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <filesystem.h>
#include <irq.h>
#include <latency.h>
#include <mm.h>
#include <process.h>
#include <procfs.h>
#include <sched.h>
#include <stat_tick.h>
#include <syscall.h>
#include <task.h>
#include <text.h>
#include <time.h>
#include <uname.h>
#include <window.h>

#include "proc_internal.h"

#define NSEC_PER_CENTISECOND 10000000ull

static u64 ns_to_centiseconds(u64 ns)
{
	return ns / NSEC_PER_CENTISECOND;
}

static void uptime_show(struct text *text)
{
	u64 up = ns_to_centiseconds(time_now_ns()), idle = ns_to_centiseconds(idle_time_ns());

	text_printf(text, "%llu.%02u %llu.%02u\n", up / 100, (u32)(up % 100), idle / 100, (u32)(idle % 100));
}

static u32 count_running(void)
{
	const struct process *process;
	const struct task *task;
	u32 n = 0;

	for_each_task_window(process, task)
		n += task->state == TASK_RUNNING && task->pid;
	return n;
}

static void system_stat_show(struct text *text)
{
	u64 user = 0, system = 0, switches = 0;

	messages_account();
	for_each_cpu(cpu) {
		user += cpu->ticks_user;
		system += cpu->ticks_system;
		switches += cpu->context_switches;
	}
	text_printf(text, "cpu  %llu 0 %llu %llu 0 0 0 0 0 0\n", user, system, ns_to_centiseconds(idle_time_ns()));
	for_each_cpu(cpu)
		text_printf(text, "cpu%u %llu 0 %llu %llu 0 0 0 0 0 0\n", cpu_index(cpu), cpu->ticks_user,
			    cpu->ticks_system, ns_to_centiseconds(task_run_ns(cpu->idle)));
	irq_show_sums(text);
	text_printf(text, "ctxt %llu\nbtime %u\nprocesses %u\nprocs_running %u\nprocs_blocked 0\n", switches,
		    (u32)((time_real_ns() - time_now_ns()) / NSEC_PER_SEC), tasks_begun, count_running());
	/* This kernel has no softirqs; programs expect the line. */
	text_puts(text, "softirq 0 0 0 0 0 0 0 0 0 0 0\n");
	text_printf(text, "unknown_syscalls %u last %u\n", syscall_unknown_count, syscall_unknown_last);
}

/*
 * Load averages in 11-bit fixed point, as proc(5) describes them: exponentially decaying means of the number of
 * runnable tasks over 1, 5 and 15 minutes, sampled every 5 seconds from the first read on.
 */
#define LOAD_SHIFT 11
#define LOAD_ONE (1u << LOAD_SHIFT)
#define LOAD_INTERVAL (5 * NSEC_PER_SEC)

static u32 load_averages[3];
static const u32 load_decay[3] = { 1884, 2014, 2037 };  /* 2048 / e^(5 s / 1, 5, 15 min) */
static struct timer load_timer;
static struct deferred load_work;

static void load_sample(struct deferred *work)
{
	u32 running = count_running() << LOAD_SHIFT;

	for (unsigned i = 0; i < 3; i++)
		load_averages[i] = (load_averages[i] * load_decay[i] + running * (LOAD_ONE - load_decay[i])) >>
				   LOAD_SHIFT;
	(void)work;
}

/* There may be many tasks, so the timer leaves the count to the task that runs. */
static void load_due(struct timer *timer)
{
	note_work(&load_work, load_sample);
	timer_set(timer, time_now_ns() + LOAD_INTERVAL);
}

static s32 youngest_process(void)
{
	const struct process *process;
	u64 start = 0;
	s32 pid = 0;

	list_for_each_window(process, &process_list, all) {
		if (process->start_ns >= start) {
			start = process->start_ns;
			pid = process->pid;
		}
	}
	return pid;
}

static void loadavg_show(struct text *text)
{
	if (!load_timer.fire) {
		list_init(&load_work.link);
		timer_init(&load_timer, load_due);
		timer_set(&load_timer, time_now_ns() + LOAD_INTERVAL);
	}
	for (unsigned i = 0; i < 3; i++)
		text_printf(text, "%u.%02u ", load_averages[i] >> LOAD_SHIFT,
			    (load_averages[i] & (LOAD_ONE - 1)) * 100 >> LOAD_SHIFT);
	text_printf(text, "%u/%u %d\n", count_running(), task_count, youngest_process());
}

static void version_show(struct text *text)
{
	text_printf(text, "%s version %s (pagewalk) %s\n", uts.field[UTS_SYSNAME], uts.field[UTS_RELEASE],
		    uts.field[UTS_VERSION]);
}

static void system_cmdline_show(struct text *text)
{
	text_printf(text, "%s\n", boot.command_line);
}

static void cpuinfo_show(struct text *text)
{
	for_each_cpu(cpu) {
		text_printf(text, "processor\t: %u\n", cpu_index(cpu));
		arch_show_cpu(text);
		text_puts(text, "\n");
	}
	text_printf(text, "timebase\t: %u\nmemory\t\t: %u MB\n", arch_cpu.timebase_hz, boot.memory_size >> 20);
}

static void devices_show(struct text *text)
{
	text_puts(text,
		  "Character devices:\n  1 mem\n  4 ttyS\n  5 /dev/tty\n  5 /dev/console\n 10 misc\n\nBlock devices:\n");
}

static void syscalls_show(struct text *text)
{
	text_printf(text, "unknown %u last %u\n", syscall_unknown_count, syscall_unknown_last);
}

void procfs_init(void)
{
	filesystem_register("proc", procfs_new);
	proc_file("cmdline", system_cmdline_show, NULL);
	proc_file("cpuinfo", cpuinfo_show, NULL);
	proc_file("devices", devices_show, NULL);
	proc_file("filesystems", filesystems_show, NULL);
	proc_file("interrupts", irq_show, NULL);
	proc_file("latency", latency_show, latency_store);
	proc_file("loadavg", loadavg_show, NULL);
	proc_file("meminfo", mm_show_meminfo, NULL);
	proc_link("mounts", "self/mounts");
	proc_file("profile", profile_show, profile_store);
	proc_file("stat", system_stat_show, NULL);
	proc_file("syscalls", syscalls_show, NULL);
	proc_file("uptime", uptime_show, NULL);
	proc_file("version", version_show, NULL);
	proc_sys_init();
}
