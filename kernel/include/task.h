/* Tasks: the threads that the scheduler runs. `current` (arch/task.h) is the running one. */
#ifndef TASK_H
#define TASK_H
#include <abi/process.h>
#include <arch/task.h>
#include <list.h>
#include <rendezvous.h>
#include <signal.h>
#include <time.h>
#include <types.h>

struct cpu;
struct files;
struct fs_context;
struct mm;
struct process;
struct usage;

#define TASK_NAME_SIZE 16
#define NICE_IDLE 20            /* of the idle task: every other task runs before it */
#define RANK_COMPUTES 1         /* two ticks in a row have found the task running, without a sleep in between */

enum task_state {
	TASK_RUNNING,           /* runs or waits for the processor */
	TASK_INTERRUPTIBLE,     /* sleeps; a signal ends the sleep */
	TASK_KILLABLE,          /* sleeps; only a fatal signal ends the sleep */
	TASK_UNINTERRUPTIBLE,
	TASK_STOPPED,           /* by SIGSTOP or another stop signal */
	TASK_TRACED,            /* waits for its tracer */
	TASK_DEAD,              /* waits to be reaped */
};

/* Reasons for the slow return to user mode (task->work; 0: the fast one). */
#define WORK_RESCHED 1u
#define WORK_SIGNAL  2u
#define WORK_NOTED   4u         /* do noted work (wait.h); a switch passes this on to the next task */
#define WORK_MOVE    8u         /* it may no longer run on its processor */
#define WORK_DEFERRED 16u       /* deferred_run() (deferred.h) */
#define WORK_MEMORY  32u        /* an allocation failed for want of memory (call_without_memory()) */

/* The further groups of a task, in order. Tasks that come from one another share them. */
struct groups {
	u32 refs, count;
	u32 id[];
};

struct credentials {
	u32 uid, euid, suid, fsuid;
	u32 gid, egid, sgid, fsgid;
	struct groups *groups;          /* NULL: none */
};

/* A sleep that a signal interrupted and restart_syscall continues. */
struct restart {
	long (*again)(struct task *task);
	u64 deadline;
	void *remaining;                /* user address or NULL */
	bool time64;                    /* form of *remaining */
	u32 *futex;                     /* FUTEX_WAIT's arguments */
	u32 value, bitset;
	bool is_private;
};

/* The tracing state of a task (task/trace.c). */
struct trace {
	struct process *tracer;         /* NULL: nobody traces it */
	struct list_head link;          /* in tracer->traced */
	u32 options;                    /* PTRACE_O_* */
	bool privileged;                /* the superuser began it: an exec may raise privileges */
	bool seized;                    /* PTRACE_SEIZE: sees stops of the process, stops on demand */
	bool listening;                 /* PTRACE_LISTEN: stopped, takes no request until an event */
	u8 traps;                       /* TRAP_*: stops when it next checks its signals */
	bool syscalls;                  /* stops before and after each system call */
	bool stepping;                  /* stops after the next instruction */
	bool unreported;                /* wait has not reported the stop or a thread's end yet */
	s32 status;                     /* in wait4's form: why it stopped, or how a thread ended */
	s32 resume_signal;              /* the signal that the tracer passes on; 0: none */
	struct siginfo info;            /* of the signal that it stopped for */
	u32 message;                    /* PTRACE_GETEVENTMSG */
};

struct task {
	u32 work;                       /* WORK_*; read at every return to user mode */
	u32 state;                      /* enum task_state */
	struct arch_task arch;          /* what a context switch saves */
	/* What a wakeup and a switch read and write lies together, in two cache lines. */
	struct mm *mm;                  /* NULL: the idle task, or an ended one */
	struct cpu *cpu;                /* that it runs on, or waits for, or ran on last */
	struct list_head run_link;      /* in a run queue, or empty */
	s32 rank;                       /* twice its nice (SCHED_IDLE: NICE_IDLE), and RANK_COMPUTES */
	u32 run_priority;               /* effective: rt_priority or an inherited one; 0: by turns */
	u32 turn_end;                   /* low word of run_ticks at which its turn is over */
	u64 run_ticks;                  /* timebase ticks; while it runs up to cpu->run_since */
	u32 voluntary_switches, involuntary_switches;

	void *kernel_stack;             /* lowest address; KERNEL_STACK_SIZE bytes */
	struct process *process;
	struct files *files;
	struct fs_context *fs;
	struct sighand *sighand;
	s32 pid;                        /* gettid() */
	s32 tgid;                       /* getpid() */

	struct list_head group_link;    /* in process->threads */
	struct list_head hash_link;     /* by pid */
	u32 policy, rt_priority;        /* SCHED_*, 1 .. 99 */
	s32 nice;                       /* -20 .. 19, or NICE_IDLE */
	u32 round;                      /* cpu->round that its turn belongs to */
	s32 whole_turn;                 /* timebase ticks of a turn of its policy, nice and priority */
	u32 switches_seen;              /* voluntary ones, when a tick last found it running */
	u16 io_priority;                /* of ioprio_set: only stored, there is no disk */
	bool reset_on_fork;             /* children get no real-time policy and no negative nice */
	u32 affinity;                   /* a bit for each of cpus[] that it may run on */

	struct vfork *vfork;            /* a parent waits for this task to leave its address space */

	struct timer sleep_timer;
	bool timed_out;
	u32 timer_slack;                /* ns that a short timed sleep lasts longer, but for a real-time task (prctl) */
	u32 default_slack;              /* ns: the value to which prctl resets timer_slack */

	struct credentials cred;
	sigset blocked, saved_blocked;
	sigset wanted;                  /* blocked signals that rt_sigtimedwait waits for */
	bool restore_blocked;
	struct sigpending pending;      /* signals to this thread */
	struct sigaltstack_abi altstack;
	struct restart restart;

	u32 *clear_child_tid;           /* user addresses */
	u32 *set_child_tid;
	void *robust_list;
	struct list_head deferred;      /* work for the end of its call (deferred.h) */
	struct list_head pi_waiters;    /* tasks waiting for its PI futexes (proc/futex_pi.c) */
	struct task *pi_owner;          /* owner of the PI futex that it waits for, or NULL */
	bool left_futexes;              /* it is ending and has handed over its PI futexes */
	void *sem_undo;                 /* ipc/sem.c */
	u32 oom_ended_at_failure;       /* oom_ended when WORK_MEMORY was set */
	u32 call_bytes;                 /* memory held by its call while it sleeps: call_alloc(), unsent messages */
	struct rendezvous rendezvous;   /* state of synchronous messages */
	u32 death_signal;               /* prctl(PR_SET_PDEATHSIG) */

	u32 user_ticks, system_ticks;
	u32 minor_faults, major_faults; /* counted by mm */
	struct trace trace;
	struct mm *next_mm;             /* execve or fork builds it; NULL: neither */
	struct mm *ending_mm;           /* it frees this address space, which no task has any more; NULL: none */
	bool left_undumpable;           /* it is ending, and its address space was not dumpable */
	bool raises_privileges;         /* its execve will: meanwhile only the superuser may begin to trace it */
	bool over_limit;                /* changed to a user with more tasks than RLIMIT_NPROC: may not exec */
	struct mutex *mutexes;          /* check=on: the mutexes that it has locked, the last first (wait.h) */
	/* A fault of a copy without the kernel lock, which has taken it (kernel.lock=fine). */
	const struct regs *fault_apart;
	bool ending;                    /* it ends, and takes no more signals of the process */
	bool killed;                    /* ends when it next checks its signals */
	char name[TASK_NAME_SIZE];      /* comm */
};

/* Memory that a call of current holds while it sleeps: the out-of-memory killer counts it. NULL: no memory. */
void *call_alloc(size_t size);
void call_free(void *object, size_t size);      /* NULL is harmless */

/*
 * Timebase ticks left of a task's turn, as of its last switch or tick; 0 or less: it is over. Its use beyond the turn
 * is taken off the next one.
 */
static inline s32 turn_left(const struct task *task) { return (s32)(task->turn_end - (u32)task->run_ticks); }

/* Whether current has a signal to take: a sleeper must then return -ERESTARTSYS. */
static inline bool signal_pending(void) { return current->work & WORK_SIGNAL; }

/*
 * Panics if a kernel stack has overflowed or is about to. The tick and a task's end check the lowest word; every
 * interrupt of the kernel itself checks the depth. regs: of the exception that checks.
 */
void stack_mark(struct task *task);     /* marks the lowest word of a new stack */
bool stack_overflown(const struct task *task, const struct regs *regs);
void stack_check(const struct regs *regs);

extern u32 task_count, tasks_begun;     /* processes and threads: those there are, and those there ever were */
struct task *task_find(s32 pid);        /* NULL: there is none */

bool capable(void);                     /* current is the superuser */
static inline u32 group_count(const struct credentials *cred) { return cred->groups ? cred->groups->count : 0; }
struct groups *groups_new(u32 count);   /* NULL: count is 0, or no memory */
struct groups *groups_get(struct groups *groups);       /* NULL is harmless, also below */
void groups_put(struct groups *groups);
size_t groups_size(const struct groups *groups);        /* bytes */
struct groups *groups_to_set(int count);        /* for setgroups. ERR_PTR: -EPERM, -EINVAL, -ENOMEM; NULL: count is 0 */
/* Sets the further groups of current, which takes them over and puts them in order. */
void groups_replace(struct groups *groups);
bool in_group(u32 gid);                 /* gid is current's fsgid or a supplementary group */
bool may_trace(const struct task *task); /* current may inspect and change the task: same user, or privileged */

/* Times in ns. */
void task_usage(const struct task *task, struct usage *usage);
u64 task_run_ns(const struct task *task);

#endif
