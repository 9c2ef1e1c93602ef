/* Processes: groups of threads, which wait4, kill and the shell handle as one. */
#ifndef PROCESS_H
#define PROCESS_H
#include <abi/process.h>
#include <errno.h>
#include <list.h>
#include <signal.h>
#include <task.h>
#include <time.h>
#include <types.h>
#include <wait.h>



#define PID_MAX        32768
#define CORE_NAME      "core"           /* name of a core file, in the working directory */

struct rlimit { u32 soft, hard; };

/* The figures of getrusage; times in ns. */
struct usage {
	u64 user_ns, system_ns;
	u32 minor_faults, major_faults;
	u32 voluntary_switches, involuntary_switches;
	u32 peak_pages;                 /* most resident at once; a sum takes the maximum */
};

struct itimer {
	struct timer timer;     /* ITIMER_REAL only */
	u64 value, interval;    /* ns; value: the time left of VIRTUAL and PROF */
	bool expired;           /* VIRTUAL and PROF: the signal is to be sent */
};

struct process {
	s32 pid;                        /* of the leader: getpid() */
	s32 pgid, sid;
	struct task *leader;            /* kept until reaped, even when it ends first */
	struct list_head threads;       /* tasks, by group_link */
	u32 thread_count;               /* threads that have not ended */
	struct list_head all;           /* in process_list */
	struct process *parent;
	struct list_head children;      /* by sibling */
	struct list_head sibling;
	struct waitq child_wait;        /* wait4 sleeps here */
	struct wake_note child_note;
	struct list_head traced;        /* tasks, by trace.link */
	s32 exit_signal;                /* to the parent, normally SIGCHLD; 0 none */
	s32 exit_status;                /* as wait4 gives it */
	bool exiting;                   /* exit_group or a fatal signal: every thread ends */
	bool zombie;
	bool execed;                    /* it has called execve: setpgid by the parent gives EACCES */
	bool stopping;                  /* a stop signal was taken: every thread stops */
	bool stopped;                   /* every thread has stopped */
	bool stop_unreported, continue_unreported;      /* wait4 has not seen it yet */
	s32 stop_signal;
	struct sigpending pending;      /* signals to the process */
	sigset thread_signals;          /* only these may be pending for a single thread */
	sigset blocked_by_all;          /* every thread blocks these and none waits for them; others: unknown */
	bool seized;                    /* a thread is or was traced by PTRACE_SEIZE */
	struct rlimit rlimit[RLIMIT_COUNT];
	struct itimer itimer[3];
	struct deferred alarm;          /* ITIMER_REAL has expired */
	struct deferred processor_time; /* a tick has come, and timers of processor time or a limit are set */
	struct list_head posix_timers;
	struct usage ended;             /* of threads that have ended */
	struct usage children_usage;    /* of reaped children */
	u64 ended_run_ticks;            /* timebase ticks of threads that have ended */
	bool oom_killed;                /* killed to get memory back: it does not stop for its tracer when it ends */
	u64 checked_ns;                 /* processor time at the last tick that looked at its timers */
	bool cpu_limits;                /* the tick checks a processor-time timer or limit */
	bool no_new_privileges;         /* prctl: exec ignores set-ID bits */
	bool private_barriers;          /* registered for private barriers of membarrier */
	bool subreaper;                 /* adopts orphaned descendants in init's place */
	bool auto_reap;                 /* the parent ignores its children: freed without a wait */
	struct pid_handle *handle;      /* shared by descriptors of the process (proc/pidfd.c); NULL: none */
	/*
	 * execve sleeps here until the other threads have ended; the thread that writes a core file until the others
	 * have stopped. These sleep in dump_wait until the file is written.
	 */
	struct waitq exec_wait, dump_wait;
	struct task *dumper;            /* the thread that writes a core file */
	u32 dumped_threads;             /* threads that wait for the core file */
	u64 start_ns;                   /* since boot; distinguishes it from a later process with its number */
	u64 group_start_ns;             /* of its process group, likewise */
};

extern struct list_head process_list;   /* of struct process, by all */
extern struct process *init_process;     /* adopts orphans; the machine stops when it ends */
extern u32 process_count;               /* zombies included */

struct process *process_find(s32 pid);  /* NULL: there is none */
bool pgrp_in_session(s32 pgid, s32 sid);
const struct process *pgrp_member(s32 pgid);    /* any, zombies too; NULL: there is no such group */
/* Whether its parent is in another group of the same session, and so keeps its group from being orphaned. */
static inline bool connects_group(const struct process *process)
{
	const struct process *parent = process->parent;

	return parent->pgid != process->pgid && parent->sid == process->sid;
}
bool pgrp_orphaned(s32 pgid);
/* The same when one process, which may be NULL, is not counted. */
bool pgrp_orphaned_without(s32 pgid, const struct process *without);

/* At boot: makes the calling context the idle task (pid 0). start_init() starts the first process, once files work. */
void proc_init(void);
void start_init(const char *path, const char *const *arguments);

/* Ends the calling thread, or the whole process, with a wait4 status. */
void task_exit(s32 status) __attribute__((noreturn));
void process_exit(s32 status) __attribute__((noreturn));
/* Ends the process by this signal, with a core file if it may leave one. */
void process_exit_dumping(const struct siginfo *info) __attribute__((noreturn));

u32 rlimit(u32 resource);               /* soft limit of current's process */

/* Includes threads that have ended; times in ns. */
void process_usage(const struct process *process, struct usage *usage);
u64 process_run_ns(const struct process *process);

/* Whether current may send sig to a process: 0 or -EPERM. */
static inline int signal_check_permission(const struct process *target, int sig)
{
	const struct credentials *mine = &current->cred, *theirs = &target->leader->cred;

	if (capable() || mine->euid == theirs->suid || mine->euid == theirs->uid ||
	    mine->uid == theirs->suid || mine->uid == theirs->uid)
		return 0;
	if (sig == SIGCONT && target->sid == current->process->sid)
		return 0;
	return -EPERM;
}

/*
 * Every thread of every process, in the order of process_list. The windows are counted over all processes. A `break`
 * ends the walk of one process.
 */
#define for_each_task_window(process, task)                                                                  \
	for (u32 visited_ = (process = list_first_entry(&process_list, __typeof__(*process), all), 0);       \
	     &process->all != &process_list;                                                                 \
	     process = list_entry(process->all.next, __typeof__(*process), all))                             \
		for (task = list_first_entry(&process->threads, __typeof__(*task), group_link);              \
		     &task->group_link != &process->threads && (interrupt_window_at(++visited_), true);      \
		     task = list_entry(task->group_link.next, __typeof__(*task), group_link))

#endif
