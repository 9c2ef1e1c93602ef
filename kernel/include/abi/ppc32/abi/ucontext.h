/*
 * Signal frames, whose layout unwinders and users of ucontext depend on (uapi powerpc asm/sigcontext.h, asm/ucontext.h,
 * and the frames that gcc's unwinder looks for on powerpc-linux), and the address of the code to which handlers return.
 */
#ifndef ABI_UCONTEXT_H
#define ABI_UCONTEXT_H
#include <abi/signal.h>
#include <types.h>

#define SIGNAL_HEADER 64u       /* below every signal frame: room for a caller's stack frame */
#define ABI_GAP       224u      /* above it: 18 GPRs and 19 FPRs that a leaf function may use */

/* The registers. The part for vector registers is never filled: these processors have none. */
struct machine_context {
	u32 gregs[48];          /* struct regs, and padding */
	u64 fpr[32];
	u64 fpscr;
	u32 trampoline[2];
	u32 vector[33 * 4];
};

struct user_context {
	u32 flags;
	u32 link;
	struct sigaltstack_abi stack;
	u32 pad[7];
	u32 regs;               /* user address of the machine context */
	u32 mask[2];            /* low signals first */
	u32 mask_room[30];
	u32 pad2[3];
	struct machine_context machine;
};

struct signal_context {         /* the old frame's */
	u32 unused[3];
	u32 mask_high;
	u32 sig;
	u32 handler;
	u32 mask_low;
	u32 regs;               /* user address of the machine context */
};

struct frame_old {
	struct signal_context context;
	struct machine_context machine;
	u8 gap[ABI_GAP];
};

struct frame_rt {
	struct siginfo info;
	u8 info_room[SIGINFO_SIZE - sizeof(struct siginfo)];
	struct user_context context;
	u8 gap[ABI_GAP];
};

_Static_assert(offsetof(struct frame_rt, context) == 128, "ABI size of siginfo");
_Static_assert(offsetof(struct user_context, machine) == 192, "ABI offset of uc_mcontext");
_Static_assert(sizeof(struct machine_context) == 992, "ABI size of mcontext");

#define TRAMPOLINE_ADDRESS 0x00100000u
#define TRAMPOLINE_SIGRETURN    TRAMPOLINE_ADDRESS
#define TRAMPOLINE_RT_SIGRETURN (TRAMPOLINE_ADDRESS + 32)

#endif
