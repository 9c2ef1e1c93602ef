/*
 * Signal frames, whose layout unwinders and users of ucontext depend on (uapi x86 asm/sigcontext.h, asm/ucontext.h, and
 * Linux' arch/x86/include/asm/sigframe.h), and the address of the code to which handlers return.
 */
#ifndef ABI_UCONTEXT_H
#define ABI_UCONTEXT_H
#include <abi/signal.h>
#include <types.h>

struct signal_context {
	u16 gs, gs_pad, fs, fs_pad, es, es_pad, ds, ds_pad;
	u32 edi, esi, ebp, esp, ebx, edx, ecx, eax;
	u32 trap, error, eip;
	u16 cs, cs_pad;
	u32 eflags, esp_again;
	u16 ss, ss_pad;
	u32 fpstate;            /* user address of struct float_state, or 0 */
	u32 old_mask, cr2;
};

/* What FNSAVE stores, and two words that say that there is no more. */
struct float_state {
	u8 image[108];
	u16 status, magic;
};
#define FLOAT_STATE_PLAIN 0xffffu

struct user_context {
	u32 flags, link;
	struct sigaltstack_abi stack;
	struct signal_context machine;
	u32 mask[2];            /* low signals first */
	u32 mask_room[30];
};

/* A handler begins with the frame at esp: a return address, and its arguments. */
struct frame_old {
	u32 return_address, sig;
	struct signal_context machine;
	u8 unused[112];         /* where struct float_state was once */
	u32 mask_high;
	u8 code[8];
	struct float_state fp;
};

struct frame_rt {
	u32 return_address, sig, info_address, context_address;
	struct siginfo info;
	u8 info_room[SIGINFO_SIZE - sizeof(struct siginfo)];
	struct user_context context;
	u8 code[8];
	struct float_state fp;
};

_Static_assert(sizeof(struct signal_context) == 88, "ABI size of sigcontext");
_Static_assert(offsetof(struct frame_rt, context) == 144, "ABI size of siginfo");
_Static_assert(offsetof(struct user_context, machine) == 20, "ABI offset of uc_mcontext");

#define TRAMPOLINE_ADDRESS 0x00100000u
#define TRAMPOLINE_SIGRETURN    TRAMPOLINE_ADDRESS
#define TRAMPOLINE_RT_SIGRETURN (TRAMPOLINE_ADDRESS + 32)

#endif
