/* Declarations that only the files of task/ and proc/ share. */
#ifndef TASK_INTERNAL_H
#define TASK_INTERNAL_H
#include <abi/futex.h>
#include <abi/ptrace.h>
#include <abi/sched.h>
#include <cpu.h>
#include <irq.h>
#include <mm.h>
#include <process.h>
#include <sched.h>
#include <task.h>

/* task.c: creating and freeing tasks and processes. */
struct task *task_new(struct process *process);         /* kernel stack included; NULL: no memory */
struct process *process_new(void);                      /* with a fresh pid; NULL: no memory or no pid */
void task_publish(struct task *task, s32 pid);          /* makes it visible by pid and in its process */
void task_free(struct task *task);
void task_release_stack(struct task *task);
void task_rename(struct task *task, s32 pid);
void process_release(struct process *process);          /* frees a zombie */
bool tasks_over_limit(u32 more);                        /* `more` tasks exceed RLIMIT_NPROC of current's user */
s32 pid_allocate(void);                                 /* -EAGAIN: none free */
/* A task that clone is making: counts for its user, and keeps its pid from others, until list_del(&claim->link). */
struct pid_claim {
	struct list_head link;
	s32 pid;                                        /* 0: none yet */
	u32 uid;                                        /* the user that the new task counts for */
};
void pid_claim(struct pid_claim *claim);

/* wait.c */
void sleep_timed_out(struct timer *timer);

/* sched.c */
void sched_start(struct task *task);                    /* makes a new task runnable */
void task_continue(struct task *task);                  /* continues a stopped or traced one */
void sched_end(void) __attribute__((noreturn));         /* ends current, which never runs again */
void sched_tick(struct regs *regs, u64 late_ns);
void sched_give_back(struct task *parent);
/* Gives a task work to do before it returns to its program, which is interrupted if it runs on another processor. */
static inline void sched_interrupt(struct task *task, u32 work)
{
	task->work |= work;
	if (SEVERAL && task != current && task == task->cpu->running)
		ipi_send(1u << task->cpu->number, IPI_LOOK);
}
void sched_share_turn(struct task *task);
void sched_requeue(struct task *task);                  /* called when its priority changed */
void sched_enqueue(struct task *task, bool first);      /* in the queues of its processor */
void sched_enqueue_woken(struct task *task, bool before);
void sched_enqueue_current(void);
bool sched_begin_round(struct cpu *cpu);                /* `active` is empty; false: nobody is ready */
bool sched_preempts(const struct task *task, const struct task *running);
bool sched_goes_before(const struct task *task, const struct task *running);
bool sched_real_time_waits(void);                       /* a task that is more urgent than current by its priority */
extern void (*idle_wait)(void);

/* task.c: the process of the idle tasks, and the parent of the first process: no signals, no user memory. */
extern struct process idle_process;
/* task.c: the parts of an idle task that do not depend on its processor. */
void idle_init(struct task *idle);

void sched_to_idle(void);                               /* switches to the idle task, though tasks may be ready */

s32 sched_slice(const struct task *task);               /* ticks of a full turn */

/* signal.c */
/* A queued signal with its siginfo. Without memory for one, the signal is delivered without siginfo. */
struct sigqueued {
	struct list_head link;
	struct siginfo info;
	struct account *account;        /* of the user that is charged for it; NULL: nobody */
	bool fixed;                     /* part of a timer: not freed */
};
void signal_task_queued(struct task *task, struct sigqueued *queued);
void signal_process_queued(struct process *process, struct sigqueued *queued);
enum default_action { ACT_TERMINATE, ACT_CORE, ACT_IGNORE, ACT_STOP, ACT_CONTINUE };
enum default_action signal_default(int sig);
/* Whether the task is of the first process and has no handler for the signal: it is then not killed or stopped. */
bool signal_protects_init(const struct task *task, int sig);
void signal_recalculate(struct task *task);             /* sets WORK_SIGNAL from pending set and mask */
void signal_notice(struct task *task);                  /* the same, and wakes an interruptible sleeper */
int signal_dequeue(sigset wanted, struct siginfo *info); /* a pending signal of current in wanted, or 0 */
void sigpending_init(struct sigpending *pending);
void sigpending_drop(struct sigpending *pending, int sig);
void sigpending_flush(struct sigpending *pending);
sigset signal_all_pending(const struct task *task);
struct sighand *sighand_new(const struct sighand *from);        /* NULL from: all default */
void sighand_put(struct sighand *sighand);
void signal_exec(void);                                 /* handlers back to default */
void signal_wake_all(struct process *process);          /* makes every thread check its signals */
void signal_not_wanted(sigset signals);                 /* current stops waiting for them: tells another thread */
void signal_leave(void);                                /* current ends: it takes no more signals to its process */

/* parent.c */
void signal_thread_stops(struct process *process);
int child_exit_code(s32 status);                         /* CLD_* of a status in wait4's form */
s32 child_status(int code, s32 status);                 /* si_status of the same */
void process_ended(struct process *process);            /* notifies its parent or tracer; may free it */
/* SIGCHLD and wake-up for the parent; status is si_status. */
void notify_parent(struct process *process, int code, s32 status);

/* credentials.c */
bool is_same_user(const struct task *task);             /* current's real IDs are all of the task's */

/* exit.c */
extern u32 subreapers;                                  /* processes that are subreapers */
void process_kill_threads(struct process *process);     /* all but current */

/* futex.c */
void futex_task_exit(struct task *task);                /* robust list, then clear_child_tid */

/* futex_pi.c: futexes with priority inheritance. */
long futex_pi_lock(u32 *word, bool is_private, bool wait, u64 deadline);
long futex_pi_unlock(u32 *word, bool is_private);
void futex_pi_inherit(struct task *task);               /* sets task->run_priority, own or inherited */
void futex_pi_task_exit(struct task *task);             /* hands its mutexes to waiters */

#define FUTEX_BUCKETS 64u               /* a power of two */
long futex_word_changed(void);
struct list_head *futex_bucket(struct list_head buckets[FUTEX_BUCKETS], const struct futex_key *key);
bool futex_key_same(const struct futex_key *a, const struct futex_key *b);

/* itimer.c */
void itimer_init(struct process *process);
void itimer_cancel_all(struct process *process);
void itimer_tick(struct process *process, bool user);
void itimer_taken(struct process *process);             /* SIGALRM was taken */

/* The clock of a process's or thread's processor time: ~pid in the upper bits, kind in the lower three. */
#define CPU_CLOCK_PID(clock)    (~((clock) >> 3))
#define CPU_CLOCK_THREAD(clock) ((clock) & 4)

/* posix_timer.c */
void posix_timers_drop(struct process *process);
void posix_timers_tick(struct process *process, u64 run_ns);
void posix_timers_clock_set(s64 delta);
void posix_timer_taken(struct sigqueued *queued);

/* time.c: the same for timers of descriptors (proc/timerfd.c); NULL: there are none. */
extern void (*timerfds_clock_set)(s64 delta);

/* sleep.c: CLOCK_REALTIME was set; wakes sleepers with a date as deadline. */
void sleep_clock_set(void);

/* pid_handle.c: a handle outlives its process, for descriptors that name it. */
struct pid_handle {
	u32 refs;                       /* files, and the process until it is reaped */
	struct process *process;        /* NULL: not published yet, or reaped */
	struct waitq ended;
};
struct pid_handle *pid_handle_new(void);                /* one reference, the caller's; NULL: no memory */
void pid_handle_put(struct pid_handle *handle);
void pid_handle_attach(struct pid_handle *handle, struct process *process);
void pid_handle_zombie(struct process *process);
void pid_handle_reaped(struct process *process);
/* pidfd.c */
struct file *pidfd_file(struct pid_handle *handle, u32 flags);  /* ERR_PTR(-ENOMEM) */
struct pid_handle *pidfd_handle(const struct file *f);  /* NULL: the file is not a pidfd */

/* trace.c: stops of traced tasks; ptrace.c has the requests. */
#define TRAP_STOP   1u          /* PTRACE_INTERRUPT or a stop of the process: any stop satisfies it */
#define TRAP_NOTIFY 2u          /* SIGCONT came */
void trace_attach(struct task *task, struct process *tracer, bool seize, u32 options);
void trace_trap(struct task *task, u8 trap);            /* makes a seized task stop (PTRACE_EVENT_STOP) */
void trace_trapped(void);                               /* current makes that stop */
void trace_detach(struct task *task);                   /* leaves its state unchanged */
void trace_resume(struct task *task, int sig);          /* ends its stop */
/* Stops current with this status until the tracer resumes it. Returns the signal that the tracer passes on, or 0. */
int trace_stop(s32 status, const struct siginfo *info);
void trace_event(int event, u32 message);               /* stops if the tracer asked for the event */
void trace_exec(void);
/* Traces the child of a fork or clone of current if the tracer asked for that. Returns the event to report, or 0. */
int trace_new_task(struct task *child, u32 clone_flags, u32 exit_signal);
/* Sets how the task continues: with stops around system calls, or for one instruction. */
void trace_mode(struct task *task, bool syscalls, bool stepping);
void trace_tracer_gone(struct process *process);
bool trace_hides_zombie(const struct process *process); /* hides it from its parent until the tracer has seen it */
bool trace_keep_thread(struct task *task);              /* at its end; true: keep it until its tracer has waited */

/* coredump.c */
bool core_wanted(void);                                 /* whether current's process may leave a core file */
/* Writes it, while every other thread of the process waits. False: no file was written. */
bool core_write(const struct siginfo *info);

/* exec.c */
int exec_kernel(const char *path, const char *const *argv, const char *const *envp, const char **reason);

/* elf.c: maps the file's program into mm. */
struct elf_image {
	uaddr_t entry;              /* entry of the program itself */
	uaddr_t start;              /* where execution begins: the interpreter's entry if it has one */
	u32 headers, header_count;      /* AT_PHDR, AT_PHNUM */
	uaddr_t interpreter_base;   /* AT_BASE */
};
int elf_load(struct mm *mm, struct file *file, struct elf_image *image, const char **reason);

/* fork.c */
struct vfork {
	bool done;
	struct waitq wq;
};
void vfork_done(struct task *child);

struct clone_request {
	u32 flags;
	u32 exit_signal;
	uaddr_t stack;              /* 0: the child uses the address of the parent's stack */
	uaddr_t tls;
	s32 *parent_tid, *child_tid, *pidfd;
};

bool clock_known(s32 clock);            /* clock_gettime knows it */

#endif
