/* Signals: the kernel's structures, sending and delivery. Numbers and the ABI's structures are in abi/signal.h. */
#ifndef SIGNAL_H
#define SIGNAL_H
#include <abi/signal.h>
#include <list.h>
#include <types.h>
#include <uaccess.h>
#include <wait.h>

/* Signal n is bit n-1. In user memory: two words, low signals first. */
typedef u64 sigset;
#define SIGBIT(sig) (1ULL << ((sig) - 1))

struct action {
	uaddr_t handler;
	u32 flags;
	uaddr_t restorer;
	sigset mask;
};

/* The handlers, shared by threads created with CLONE_SIGHAND. */
struct sighand {
	u32 refs;
	struct action action[NSIG];
	struct waitq arrived;           /* signalfds wait here */
	struct wake_note arrival;       /* of `arrived`, for signals sent by interrupts */
};

/*
 * Pending signals of a thread or of a whole process. Ordinary signals stand first in the queue, each at most once;
 * real-time signals follow. An interrupt (a timer's signal) may remove ordinary signals, but no real-time ones, so only
 * a walk that has reached the real-time ones may open windows.
 */
struct sigpending {
	sigset set;
	struct list_head queue;         /* of struct sigqueued */
};

struct task;
struct process;
struct mm;
struct regs;

/*
 * Sending from inside the kernel: never sleeps, needs no permission. A signal without info is the kernel's own
 * (SI_KERNEL).
 */
void signal_task(struct task *task, int sig, const struct siginfo *info);
void signal_process(struct process *process, int sig, const struct siginfo *info);
int signal_pgrp(s32 pgid, int sig, const struct siginfo *info);   /* 0 or -ESRCH */

/* Queued real-time signals (RLIMIT_SIGPENDING), in all processes of a real user; without those of timers. */
u32 signals_queued(u32 uid);
/* Whether the process's user has so many that another one to the process would exceed RLIMIT_SIGPENDING. */
bool signal_queue_is_full(const struct process *process, int sig);

/*
 * A synchronous fault of current (SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP):
 * delivered even when the signal is blocked or ignored; it then kills the process.
 */
void signal_fault(int sig, int code, uaddr_t addr);


/* SIGKILL to the whole process, for the out-of-memory killer. */
void signal_kill(struct process *process);

/* Whether current has a signal that will end it. */
bool signal_fatal_pending(void);

/* Whether current ignores or blocks sig: the terminal's rule for background readers and writers. */
bool signal_ignored_or_blocked(int sig);

/*
 * Sets a temporary mask (ppoll, pselect6, epoll_pwait) before waiting. End with signal_mask_restore(result): if result
 * is an interruption, the old mask returns only after the handler.
 */
int signal_mask_swap(const u32 *user_mask, u32 size);
void signal_mask_restore(long result);

/* Copies siginfo. -EFAULT; -E2BIG: si_code is unknown, and bytes are set beyond those that the kernel keeps. */
int siginfo_from_user(struct siginfo *info, const struct siginfo *user);
int siginfo_to_user(struct siginfo *user, const struct siginfo *info);
/* In user memory the word of the low signals comes first; each word is big-endian. */
static inline int sigset_from_user(sigset *set, const u32 *user)
{
	u32 words[2];

	if (copy_from_user(words, user, sizeof(words)))
		return -EFAULT;
	*set = ((sigset)words[1] << 32) | words[0];
	return 0;
}

static inline int sigset_to_user(u32 *user, sigset set)
{
	u32 words[2] = { (u32)set, (u32)(set >> 32) };

	return copy_to_user(user, words, sizeof(words));
}

/* Called before returning to user mode with WORK_SIGNAL set. */
void signal_deliver(struct regs *regs);
/* Called before user mode when work is not 0: schedules and delivers signals until it is 0. */
void return_to_user(struct regs *regs);

void signal_set_blocked(sigset blocked);                /* of current; never blocks SIGKILL and SIGSTOP */

/*
 * Implemented by the architecture (signal_frame.c). signal_frame_push() pushes a handler's frame on the program's
 * stack: 0, or -EFAULT if the stack is not writable. arch_trampoline_write() writes the code by which handlers return.
 */
int signal_frame_push(struct regs *regs, int sig, const struct action *action, const struct siginfo *info,
		      sigset mask);
void arch_trampoline_write(u8 *page);

/* The page of that code: fills it, and maps it into a new address space. */
void trampoline_init(void);
int trampoline_map(struct mm *mm);
/*
 * current's alternate stack; sp is the program's stack pointer. altstack_enter() returns where the frame of a handler
 * begins: at the end of the alternate stack, or at sp. altstack_to_user() stores it for the handler and switches it off
 * if it is to be off in handlers; altstack_restore() takes it back.
 */
uaddr_t altstack_enter(const struct action *action, uaddr_t sp);
int altstack_to_user(struct sigaltstack_abi *user, uaddr_t sp);
void altstack_restore(const struct sigaltstack_abi *stack, uaddr_t sp);

#endif
