/* What the files of proc/ share and nobody else needs. */
#ifndef PROC_INTERNAL_H
#define PROC_INTERNAL_H

#include <abi/futex.h>
#include <abi/ptrace.h>
#include <abi/sched.h>
#include <mm.h>
#include <process.h>
#include <sched.h>
#include <task.h>

/* task.c: birth and end of the structures. */
struct task *task_new(struct process *process);         /* kernel stack included; NULL: no memory */
struct process *process_new(void);                      /* with a fresh pid; NULL: no memory or no pid */
void task_publish(struct task *task, s32 pid);          /* findable by pid, in its process */
void task_free(struct task *task);
void task_release_stack(struct task *task);
void task_rename(struct task *task, s32 pid);
void process_release(struct process *process);          /* a zombie is reaped */
s32 pid_allocate(void);                                 /* -EAGAIN: none free */

/* wait.c */
void sleep_timed_out(struct timer *timer);

/* sched.c */
void sched_start(struct task *task);                    /* a new task is runnable */
void task_continue(struct task *task);                  /* a stopped or traced one */
void schedule_tail(void);                               /* first thing that a new task does */
void sched_tick(struct regs *regs, u64 late_ns);
void sched_give_back(const struct task *task, struct task *parent);
void sched_requeue(struct task *task);                  /* its priority changed */

s32 sched_slice(const struct task *task);               /* ticks of a full turn */

/* signal.c */
/* One signal with its story; a signal without memory for one is still delivered. */
struct sigqueued {
	struct list_head link;
	struct siginfo info;
	bool fixed;                     /* part of a timer: not freed */
};
void signal_task_queued(struct task *task, struct sigqueued *queued);
void signal_process_queued(struct process *process, struct sigqueued *queued);
enum default_action { ACT_TERMINATE, ACT_CORE, ACT_IGNORE, ACT_STOP, ACT_CONTINUE };
enum default_action signal_default(int sig);
/* The task is of the first process, which can't be killed or stopped by what it has not asked for. */
bool signal_protects_init(const struct task *task, int sig);
void signal_recalculate(struct task *task);             /* WORK_SIGNAL as the pending set and mask say */
void signal_notice(struct task *task);                  /* the same, and a sleeper looks */
int signal_dequeue(sigset wanted, struct siginfo *info); /* a signal in wanted that waits for current, or 0 */
void sigpending_init(struct sigpending *pending);
void sigpending_drop(struct sigpending *pending, int sig);
void sigpending_flush(struct sigpending *pending);
sigset signal_all_pending(const struct task *task);
struct sighand *sighand_new(const struct sighand *from);        /* NULL from: all default */
void sighand_put(struct sighand *sighand);
void signal_exec(void);                                 /* handlers back to default */
void signal_wake_all(struct process *process);          /* every thread looks at its signals */

/* exit.c */
extern u32 subreapers;                                  /* processes that are one */
void process_kill_threads(struct process *process);     /* all but current */
/* wait.c of processes: SIGCHLD and wake-up for the parent; status is si_status. */
void notify_parent(struct process *process, int code, s32 status);
void process_ended(struct process *process);            /* notifies its parent, or a tracer; it may be gone then */

/* futex.c */
void futex_task_exit(struct task *task);                /* robust list, then clear_child_tid */

/* futex_pi.c: mutexes whose owner inherits the priority of those who wait for it. */
long futex_pi_lock(u32 *word, bool is_private, bool wait, u64 deadline);
long futex_pi_unlock(u32 *word, bool is_private);
void futex_pi_inherit(struct task *task);               /* task->run_priority: its own, or a waiter's */
void futex_pi_task_exit(struct task *task);             /* its mutexes go to those who wait */

#define FUTEX_BUCKETS 64u               /* a power of two */
struct list_head *futex_bucket(struct list_head buckets[FUTEX_BUCKETS], const struct futex_key *key);
bool futex_key_same(const struct futex_key *a, const struct futex_key *b);

/* itimer.c */
void itimer_init(struct process *process);
void itimer_cancel_all(struct process *process);
void itimer_tick(struct process *process, bool user);
void itimer_taken(struct process *process);             /* SIGALRM goes to its handler */

/* A processor-time clock of some process or thread: ~pid in the upper bits, kind in the lower three. */
#define CPU_CLOCK_PID(clock)    (~((clock) >> 3))
#define CPU_CLOCK_THREAD(clock) ((clock) & 4)

/* posix_timer.c */
void posix_timers_drop(struct process *process);
void posix_timers_tick(struct process *process);
void posix_timers_clock_set(s64 delta);
void posix_timer_taken(struct sigqueued *queued);

/* timerfd.c: as posix_timers_clock_set. */
void timerfds_clock_set(s64 delta);

/* sleep.c: CLOCK_REALTIME was set; who sleeps until a date looks again. */
void sleep_clock_set(void);

/* pidfd.c: who outlives a process that descriptors name. */
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
struct file *pidfd_file(struct pid_handle *handle, u32 flags);  /* ERR_PTR(-ENOMEM) */
struct pid_handle *pidfd_handle(const struct file *f);  /* NULL: no such descriptor's file, or no file */

/* trace.c: what a tracer sees and does; ptrace.c has the requests. */
#define TRAP_STOP   1u          /* PTRACE_INTERRUPT, or the process stops: any other stop does as well */
#define TRAP_NOTIFY 2u          /* SIGCONT came */
void trace_attach(struct task *task, struct process *tracer, bool seize, u32 options);
void trace_trap(struct task *task, u8 trap);            /* a seized one stops, PTRACE_EVENT_STOP */
void trace_trapped(void);                               /* current does */
void trace_detach(struct task *task);                   /* goes on as it is */
void trace_resume(struct task *task, int sig);          /* out of its stop */
/* current stops with this status and waits; the signal that the tracer lets it have, 0 for none. */
int trace_stop(s32 status, const struct siginfo *info);
void trace_event(int event, u32 message);               /* stops if the tracer asked for the event */
void trace_exec(void);
/* The child of a fork or clone of current: traced as well if the tracer asked for that. The event to tell, or 0. */
int trace_new_task(struct task *child, u32 clone_flags, u32 exit_signal);
/* How it goes on: with stops around system calls, or after one instruction. */
void trace_mode(struct task *task, bool syscalls, bool stepping);
void trace_tracer_gone(struct process *process);
bool trace_hides_zombie(const struct process *process); /* from its parent, until the tracer has seen it */
bool trace_keep_thread(struct task *task);              /* it has ended; true: stays until its tracer has waited */

/* coredump.c */
bool core_wanted(void);                                 /* current's process may leave a core file */
/* Writes it: every other thread of the process waits. False: there is none. */
bool core_write(const struct siginfo *info);

/* exec.c */
int exec_kernel(const char *path, const char *const *argv, const char *const *envp, const char **reason);

/* elf.c: maps the file's program into mm. */
struct elf_image {
	uaddr_t entry;              /* of the program itself */
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
	uaddr_t stack;              /* 0: the parent's */
	uaddr_t tls;
	s32 *parent_tid, *child_tid, *pidfd;
};

bool clock_known(s32 clock);            /* clock_gettime has it */

#endif
