/*
 * Tasks and processes. A task is what the scheduler runs (a thread); a process
 * is what wait4, kill and the shell see (a thread group).
 */
#ifndef PROC_H
#define PROC_H

#include <abi/process.h>
#include <abi/system.h>
#include <arch/task.h>
#include <list.h>
#include <rendezvous.h>
#include <signal.h>
#include <time.h>
#include <types.h>
#include <wait.h>

struct regs;
struct mm;
struct files;
struct file;
struct fs_context;

#define TASK_NAME_SIZE 16
#define PID_MAX        32768
#define CORE_NAME      "core"           /* of a core file, in the working directory */

enum task_state {
	TASK_RUNNING,           /* runs or waits for the processor */
	TASK_INTERRUPTIBLE,     /* sleeps; a signal ends the sleep */
	TASK_KILLABLE,          /* sleeps; only a fatal signal ends the sleep */
	TASK_UNINTERRUPTIBLE,
	TASK_STOPPED,           /* by SIGSTOP and its like */
	TASK_TRACED,            /* waits for what its tracer says */
	TASK_DEAD,              /* waits to be reaped */
};

/* Reasons for the long way back to user mode (task->work; 0 is the fast one). */
#define WORK_RESCHED 1u
#define WORK_SIGNAL  2u

struct credentials {
	u32 uid, euid, suid, fsuid;
	u32 gid, egid, sgid, fsgid;
	u32 group_count;
	u32 groups[NGROUPS_MAX];
};

struct rlimit { u32 soft, hard; };

/* What getrusage adds up; times in ns. */
struct usage {
	u64 user_ns, system_ns;
	u32 minor_faults, major_faults;
	u32 voluntary_switches, involuntary_switches;
	u32 peak_pages;                 /* most resident at once; added up as a maximum */
};

struct itimer {
	struct timer timer;     /* ITIMER_REAL only */
	u64 value, interval;    /* ns; value: what is left of VIRTUAL and PROF */
};

struct process {
	s32 pid;                        /* of the leader: getpid() */
	s32 pgid, sid;
	struct task *leader;            /* kept until reaped, even when it ends first */
	struct list_head threads;       /* tasks, by group_link */
	u32 thread_count;               /* that have not ended */
	struct list_head all;           /* in process_list */
	struct process *parent;
	struct list_head children;      /* by sibling */
	struct list_head sibling;
	struct waitq child_wait;        /* wait4 sleeps here */
	struct list_head traced;        /* tasks, by trace.link */
	s32 exit_signal;                /* to the parent, normally SIGCHLD; 0 none */
	s32 exit_status;                /* as wait4 gives it */
	bool exiting;                   /* exit_group or a fatal signal: every thread ends */
	bool zombie;
	bool execed;                    /* since fork: setpgid by the parent is EACCES */
	bool stopping;                  /* a stop signal was taken: every thread stops */
	bool stopped;                   /* and all have */
	bool stop_unreported, continue_unreported;      /* wait4 has not seen it yet */
	s32 stop_signal;
	struct sigpending pending;      /* signals to the process */
	struct rlimit rlimit[RLIMIT_COUNT];
	struct itimer itimer[3];
	struct list_head posix_timers;
	struct usage ended;             /* of threads that have ended */
	struct usage children_usage;    /* of reaped children */
	u64 ended_run_ticks;            /* timebase ticks of threads that have ended */
	bool cpu_limits;                /* the tick has a timer or a limit of processor time to look at */
	bool no_new_privileges;         /* prctl: exec ignores set-ID bits */
	bool private_barriers;          /* membarrier may be used for them */
	bool subreaper;                 /* orphans among its descendants come to it, not to init */
	bool auto_reap;                 /* the parent ignores its children: nobody waits */
	struct pid_handle *handle;      /* what descriptors of the process hold (proc/pidfd.c); NULL: none yet */
	struct waitq exec_wait;         /* a thread in execve waits here for the others to end; and around a core file */
	struct task *execing;
	struct task *dumper;            /* the thread that writes a core file */
	u32 dumped_threads;             /* others that wait until it has */
	u64 start_ns;                   /* since boot */
};

/* A sleep that a signal interrupted and that restart_syscall continues. */
struct restart {
	long (*again)(struct task *task);
	u64 deadline;
	void *remaining;                /* user address or NULL */
	bool time64;                    /* form of *remaining */
	u32 *futex;                     /* FUTEX_WAIT's arguments */
	u32 value, bitset;
	bool is_private;
};

/* What a tracer has done to a task (proc/trace.c). */
struct trace {
	struct process *tracer;         /* NULL: nobody traces it */
	struct list_head link;          /* in tracer->traced */
	u32 options;                    /* PTRACE_O_* */
	bool privileged;                /* whoever began it was the superuser: an exec may give new privileges */
	bool seized;                    /* PTRACE_SEIZE: it sees stops of the whole process, and stops on demand */
	bool listening;                 /* stays stopped until something happens, and takes no other request */
	u8 traps;                       /* TRAP_*: stops at its next look at its signals */
	bool syscalls;                  /* stops before and after each system call */
	bool stepping;                  /* stops after the next instruction */
	bool unreported;                /* wait has not told of the stop, or of a thread's end, yet */
	s32 status;                     /* in wait4's form: why it stopped, or how a thread ended */
	s32 resume_signal;              /* what the tracer lets it have; 0: none */
	struct siginfo info;            /* of the signal that it stopped for */
	u32 message;                    /* PTRACE_GETEVENTMSG */
};

struct task {
	u32 work;                       /* WORK_*; read at every return to user mode */
	u32 state;                      /* enum task_state */
	struct arch_task arch;          /* what a context switch saves */
	void *kernel_stack;             /* lowest address; KERNEL_STACK_SIZE bytes */
	struct mm *mm;                  /* NULL: the idle task, or one that has ended */
	struct process *process;
	struct files *files;
	struct fs_context *fs;
	struct sighand *sighand;
	s32 pid;                        /* gettid() */
	s32 tgid;                       /* getpid() */

	struct list_head run_link;      /* in a run queue */
	struct list_head group_link;    /* in process->threads */
	struct list_head hash_link;     /* by pid */
	s32 nice;                       /* -20 .. 19 */
	u32 policy, rt_priority;        /* SCHED_*, 1 .. 99 */
	bool reset_on_fork;             /* children get no real-time policy and no negative nice */
	u32 run_priority;               /* that it runs at: rt_priority, or a higher one that it inherits; 0: by turns */
	s32 slice;                      /* ticks left */
	bool queued;

	struct vfork *vfork;            /* a parent waits for this task to leave its address space */

	struct timer sleep_timer;
	bool timed_out;

	struct credentials cred;
	sigset blocked, saved_blocked;
	sigset wanted;                  /* blocked, but rt_sigtimedwait sleeps for them */
	bool restore_blocked;
	struct sigpending pending;      /* signals to this thread */
	struct sigaltstack_abi altstack;
	struct restart restart;

	u32 *clear_child_tid;           /* user addresses */
	u32 *set_child_tid;
	void *robust_list;
	void *sem_undo;                 /* ipc/sem.c */
	struct rendezvous rendezvous;   /* its part in synchronous messages */
	u32 death_signal;               /* prctl(PR_SET_PDEATHSIG) */

	u64 run_ticks, run_since;       /* timebase ticks before this turn; timebase at its start */
	u32 user_ticks, system_ticks;
	u32 minor_faults, major_faults; /* counted by mm */
	u32 voluntary_switches, involuntary_switches;
	struct trace trace;
	bool killed;                    /* ends at its next look at its signals */
	char name[TASK_NAME_SIZE];      /* comm */
};

/* current has a signal to take: a sleeper must return -ERESTARTSYS. */
static inline bool signal_pending(void) { return current->work & WORK_SIGNAL; }

/*
 * `current` is arch/ppc's (arch/task.h declares it after struct task is
 * known): the running task, a register.
 */

extern struct list_head process_list;   /* of struct process, by all */
extern struct process *init_process;     /* adopts orphans; its end is the machine's */
extern u32 process_count;               /* zombies included */
extern u32 task_count;

/*
 * A kernel stack that overflowed, or is about to, is a panic. regs: of the exception that looks. The lowest word is
 * looked at by the tick and at a task's end, the depth wherever the kernel itself is interrupted.
 */
void stack_mark(struct task *task);     /* a new stack's lowest word */
bool stack_overflown(const struct task *task, const struct regs *regs);
void stack_check(const struct regs *regs);

/* NULL when there is none. */
struct task *task_find(s32 pid);
struct process *process_find(s32 pid);
bool pgrp_in_session(s32 pgid, s32 sid);
bool pgrp_orphaned(s32 pgid);

/* Boot: the idle task (pid 0) is the context that calls this; then the first process, once files work. */
void proc_init(void);
void start_init(const char *path, const char *const *arguments);

/*
 * The scheduler. The context switch itself is arch/ppc's
 * switch_to(struct task *previous, struct task *next).
 */
void schedule(void);
void yield(void);
/*
 * The same for current, which is to sleep, straight to a task that sleeps interruptibly. False, and nothing has
 * happened: somebody else's turn is first, or the task has no turn left.
 */
bool schedule_to(struct task *next);
/*
 * The kernel runs with interrupts off. A call that takes long lets in those that wait, between two pieces of its work:
 * interrupt_window() runs their handlers and nothing else; preemption_point() also lets others run whose turn it is,
 * so the caller must hold nothing that they could change under it.
 */
void interrupt_window(void);
void preemption_point(void);
/* In a loop whose steps are short (over pages, entries, files), by their number: a window at every so-manyth. */
#define WINDOW_STEPS 32u
static inline void interrupt_window_at(u32 step)
{
	if (step % WINDOW_STEPS == 0)
		interrupt_window();
}
void task_wake(struct task *task);      /* makes a sleeping task runnable */

/* The boot context ends here. Idle work is a chain of hooks in order of registration. */
void idle_loop(void) __attribute__((noreturn));

/*
 * A policy's idle work: does one small piece (well under a tick), returns false when
 * there is nothing left to do. Runs with interrupts on.
 */
struct idle_hook {
	struct list_head link;
	bool (*work)(void);
};
/* Runs a hook: policy idle.cache binds how the caches are meanwhile. */
extern bool (*idle_run)(bool (*work)(void));
extern bool idle_caches_locked;         /* while a hook runs */
void idle_hook_add(struct idle_hook *hook);
void idle_hook_remove(struct idle_hook *hook);
u64 idle_time_ns(void);

/* Ends the calling thread, or the whole process, with a wait4 status. */
void task_exit(s32 status) __attribute__((noreturn));
void process_exit(s32 status) __attribute__((noreturn));
/* By this signal, with a core file if the process may leave one. */
void process_exit_dumping(const struct siginfo *info) __attribute__((noreturn));

/* Before user mode when work is not 0: schedules and delivers signals until it is 0. */
void return_to_user(struct regs *regs);

bool capable(void);                     /* current is the superuser */
bool in_group(u32 gid);                 /* fsgid or a supplementary group of current */
bool may_trace(const struct task *task); /* current may look into the task, or change it: the same user, or privileged */
u32 rlimit(u32 resource);               /* soft limit of current's process */

/* Times in ns of one task, or of a whole process with the ended threads. */
void task_usage(const struct task *task, struct usage *usage);
void process_usage(const struct process *process, struct usage *usage);
u64 task_run_ns(const struct task *task);
u64 process_run_ns(const struct process *process);

#endif
