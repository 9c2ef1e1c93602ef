/*
 * Signals: numbers, flags, structures with 32-bit pointers (uapi asm-generic/signal.h, siginfo.h, linux/signalfd.h).
 */
#ifndef ABI_SIGNAL_H
#define ABI_SIGNAL_H
#include <types.h>

#define SIGHUP    1
#define SIGINT    2
#define SIGQUIT   3
#define SIGILL    4
#define SIGTRAP   5
#define SIGABRT   6
#define SIGBUS    7
#define SIGFPE    8
#define SIGKILL   9
#define SIGUSR1   10
#define SIGSEGV   11
#define SIGUSR2   12
#define SIGPIPE   13
#define SIGALRM   14
#define SIGTERM   15
#define SIGSTKFLT 16
#define SIGCHLD   17
#define SIGCONT   18
#define SIGSTOP   19
#define SIGTSTP   20
#define SIGTTIN   21
#define SIGTTOU   22
#define SIGURG    23
#define SIGXCPU   24
#define SIGXFSZ   25
#define SIGVTALRM 26
#define SIGPROF   27
#define SIGWINCH  28
#define SIGIO     29
#define SIGPWR    30
#define SIGSYS    31
#define SIGRTMIN  32
#define NSIG      64

#define SIG_DFL 0u
#define SIG_IGN 1u

#define SA_NOCLDSTOP 0x00000001u
#define SA_NOCLDWAIT 0x00000002u
#define SA_SIGINFO   0x00000004u
#define SA_RESTORER  0x04000000u
#define SA_ONSTACK   0x08000000u
#define SA_RESTART   0x10000000u
#define SA_NODEFER   0x40000000u
#define SA_RESETHAND 0x80000000u

#define SIG_BLOCK   0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SS_ONSTACK    1
#define SS_DISABLE    2
#define SS_AUTODISARM 0x80000000u
#define MINSIGSTKSZ   2048

/* si_code */
#define SI_USER      0
#define SI_KERNEL    0x80
#define SI_TIMER     (-2)
#define SI_MESGQ     (-3)
#define SI_TKILL     (-6)
#define SI_DETHREAD  (-7)
#define SI_ASYNCNL   (-60)
#define ILL_ILLOPC   1
#define ILL_ILLOPN   2
#define ILL_PRVOPC   5
#define FPE_INTDIV   1
#define FPE_FLTDIV   3
#define FPE_FLTOVF   4
#define FPE_FLTUND   5
#define FPE_FLTRES   6
#define FPE_FLTINV   7
#define SEGV_MAPERR  1
#define SEGV_ACCERR  2
#define BUS_ADRALN   1
#define BUS_ADRERR   2
#define TRAP_BRKPT   1
#define TRAP_TRACE   2
#define POLL_IN      1
#define POLL_OUT     2
#define POLL_ERR     4
#define POLL_HUP     6
#define CLD_EXITED    1
#define CLD_KILLED    2
#define CLD_DUMPED    3
#define CLD_TRAPPED   4
#define CLD_STOPPED   5
#define CLD_CONTINUED 6

/*
 * The fields used depend on the signal. In user memory it has SIGINFO_SIZE bytes, of which no more than these have a
 * meaning.
 */
#define SIGINFO_SIZE 128u
struct siginfo {
	s32 signo;
	s32 err;
	s32 code;
	union {
		struct { s32 pid; u32 uid; u32 value; } kill;        /* kill, tgkill, sigqueue */
		struct { s32 id; s32 overrun; u32 value; } timer;
		struct { s32 pid; u32 uid; s32 status; s32 utime; s32 stime; } child;
		struct { u32 addr; } fault;                          /* SIGILL SIGFPE SIGSEGV SIGBUS SIGTRAP */
		struct { s32 band; s32 fd; } poll;
		u32 raw[5];
	};
};

struct sigaction_abi {          /* rt_sigaction's */
	u32 handler;
	u32 flags;
	u32 restorer;
	u32 mask[2];
};

#define SIGEV_SIGNAL    0
#define SIGEV_NONE      1
#define SIGEV_THREAD    2
#define SIGEV_THREAD_ID 4

struct sigevent {
	u32 value;
	s32 signo;
	s32 notify;
	s32 tid;
	u32 reserved[12];
};

struct sigaltstack_abi {
	u32 sp;
	s32 flags;
	u32 size;
};

#define SIGSET_SIZE 8u

struct old_sigaction {
	u32 handler, mask, flags, restorer;
};

/* Linux uapi <linux/signalfd.h>. */
struct signalfd_siginfo {
	u32 signo;
	s32 err, code;
	u32 pid, uid;
	s32 fd;
	u32 tid, band, overrun, trapno;
	s32 status, value;
	u64 pointer, utime, stime, address;
	u16 address_lsb, pad[23];
};
_Static_assert(sizeof(struct signalfd_siginfo) == 128, "struct signalfd_siginfo");

#endif
