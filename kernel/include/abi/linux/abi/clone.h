/* clone, clone3 and unshare (uapi linux/sched.h). */
#ifndef ABI_CLONE_H
#define ABI_CLONE_H
#include <types.h>

#define CSIGNAL              0x000000ffu
#define CLONE_VM             0x00000100u
#define CLONE_FS             0x00000200u
#define CLONE_FILES          0x00000400u
#define CLONE_SIGHAND        0x00000800u
#define CLONE_PIDFD          0x00001000u
#define CLONE_PTRACE         0x00002000u
#define CLONE_VFORK          0x00004000u
#define CLONE_PARENT         0x00008000u
#define CLONE_THREAD         0x00010000u
#define CLONE_SYSVSEM        0x00040000u
#define CLONE_SETTLS         0x00080000u
#define CLONE_PARENT_SETTID  0x00100000u
#define CLONE_CHILD_CLEARTID 0x00200000u
#define CLONE_DETACHED       0x00400000u
#define CLONE_UNTRACED       0x00800000u
#define CLONE_CHILD_SETTID   0x01000000u
#define CLONE_IO             0x80000000u

/* clone3's argument block; the ABI's first version is the first 64 bytes. */
struct clone_args {
	u64 flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	u64 set_tid, set_tid_size, cgroup;
};
#define CLONE_ARGS_SIZE_VER0 64u

#define CLONE_NEW_ANYTHING 0x7e020080u  /* new namespaces: not supported */

#endif
