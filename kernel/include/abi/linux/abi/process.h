/* Limits, usage and waiting (uapi asm-generic/resource.h, linux/resource.h, linux/wait.h, linux/times.h). */
#ifndef ABI_PROCESS_H
#define ABI_PROCESS_H
#include <abi/time.h>
#include <types.h>

#define NGROUPS_MAX 65536

/* setrlimit's resources; RLIM_INFINITY is all ones. */
enum {
	RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_RSS,
	RLIMIT_NPROC, RLIMIT_NOFILE, RLIMIT_MEMLOCK, RLIMIT_AS, RLIMIT_LOCKS,
	RLIMIT_SIGPENDING, RLIMIT_MSGQUEUE, RLIMIT_NICE, RLIMIT_RTPRIO, RLIMIT_RTTIME,
	RLIMIT_COUNT
};
#define RLIM_INFINITY 0xffffffffu

struct rlimit64 { u64 soft, hard; };

#define WNOHANG    1u
#define WUNTRACED  2u
#define WSTOPPED   2u
#define WEXITED    4u
#define WCONTINUED 8u
#define WNOWAIT    0x01000000u
#define WNOTHREAD  0x20000000u
#define WALL       0x40000000u
#define WCLONE     0x80000000u

/* wait4's status: exit code in bits 8-15, or the signal in bits 0-6 and 0x80 if there is a core file. */
#define STATUS_CORE           0x80
#define STATUS_SIGNAL(status) ((status) & 0x7f)
#define STATUS_CODE(status)   (((status) >> 8) & 0xff)
#define STATUS_STOPPED(sig)   (((sig) << 8) | 0x7f)
#define STATUS_CONTINUED      0xffff

#define P_ALL  0
#define P_PID  1
#define P_PGID 2
#define P_PIDFD 3

#define RUSAGE_SELF     0
#define RUSAGE_CHILDREN (-1)
#define RUSAGE_THREAD   1

struct tms { s32 user, system, children_user, children_system; };

/* struct rusage of a 32-bit program: two timevals and fourteen words. */
struct rusage32 {
	struct timeval32 user, system;
	s32 max_resident_kb;
	s32 shared, data, stack;        /* never filled in, as on Linux */
	s32 minor_faults, major_faults;
	s32 swaps, blocks_in, blocks_out, messages_sent, messages_received, signals;
	s32 voluntary_switches, involuntary_switches;
};

#endif
