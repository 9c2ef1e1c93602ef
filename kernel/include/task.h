/* Tasks: what the scheduler runs, a thread. `current` (arch/task.h) is the one that runs. */
#ifndef TASK_H
#define TASK_H

#include <abi/process.h>
#include <arch/task.h>
#include <list.h>
#include <rendezvous.h>
#include <signal.h>
#include <time.h>
#include <types.h>

struct file;
struct files;
struct fs_context;
struct mm;
struct process;
struct usage;

#define TASK_NAME_SIZE 16

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
#define WORK_WAKE    4u         /* queues are noted (wait.h); a switch passes it on */

struct credentials {
	u32 uid, euid, suid, fsuid;
	u32 gid, egid, sgid, fsgid;
	u32 group_count;
	u32 groups[NGROUPS_MAX];
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

	struct list_head run_link;      /* in a run queue; else empty */
	struct list_head group_link;    /* in process->threads */
	struct list_head hash_link;     /* by pid */
	s32 nice;                       /* -20 .. 19 */
	u32 policy, rt_priority;        /* SCHED_*, 1 .. 99 */
	u16 io_priority;                /* ioprio_set's: there is no disk to wait for, so it is only kept */
	bool reset_on_fork;             /* children get no real-time policy and no negative nice */
	u32 run_priority;               /* that it runs at: rt_priority, or a higher one that it inherits; 0: by turns */
	s32 slice;                      /* ticks left */

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
	struct list_head pi_waiters;    /* those who wait for its futexes with inheritance (proc/futex_pi.c) */
	struct task *pi_owner;          /* whom it waits for in the same way; NULL: for nobody */
	bool left_futexes;              /* it ends, and has handed over what others wait for */
	void *sem_undo;                 /* ipc/sem.c */
	struct rendezvous rendezvous;   /* its part in synchronous messages */
	u32 death_signal;               /* prctl(PR_SET_PDEATHSIG) */

	u64 run_ticks;                  /* timebase ticks before this turn, or the last tick of the clock in it */
	u32 run_since;                  /* low word of the timebase then */
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
 * A kernel stack that overflowed, or is about to, is a panic. regs: of the exception that looks. The lowest word is
 * looked at by the tick and at a task's end, the depth wherever the kernel itself is interrupted.
 */
void stack_mark(struct task *task);     /* a new stack's lowest word */
bool stack_overflown(const struct task *task, const struct regs *regs);
void stack_check(const struct regs *regs);

extern u32 task_count;
struct task *task_find(s32 pid);        /* NULL: there is none */

bool capable(void);                     /* current is the superuser */
bool in_group(u32 gid);                 /* fsgid or a supplementary group of current */
bool may_trace(const struct task *task); /* current may look into the task, or change it: the same user, or privileged */

/* Times in ns. */
void task_usage(const struct task *task, struct usage *usage);
u64 task_run_ns(const struct task *task);

#endif
