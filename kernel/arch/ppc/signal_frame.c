/* Signal frames: pushing one on a program's stack, and returning from a handler. */
#include <abi/auxv.h>
#include <abi/ucontext.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

_Static_assert(sizeof(struct regs) <= sizeof(((struct machine_context *)0)->gregs), "struct regs is the ABI's pt_regs");

#define MSR_FROM_USER (MSR_FE0 | MSR_FE1)       /* the only bits that a program may change */

/* FPSCR follows the floating-point registers, both in the frame and in the task. */
#define FP_SIZE (offsetof(struct machine_context, trampoline) - offsetof(struct machine_context, fpr))
_Static_assert(offsetof(struct arch_task, fpscr) + sizeof(u64) - offsetof(struct arch_task, fpr) == FP_SIZE,
	       "one copy moves the registers and FPSCR");

/* Without an FPU there is nothing to save: the frame's room keeps what the program had there. */
static bool has_fpu(void)
{
	return arch_cpu.hwcap & PPC_FEATURE_HAS_FPU;
}

static int save_machine(struct machine_context *user, const struct regs *regs)
{
	if (copy_to_user(user->gregs, regs, sizeof(*regs)))
		return -EFAULT;
	if (!has_fpu())
		return 0;
	arch_fpu_save(current);
	return copy_to_user(user->fpr, &current->arch.fpr, FP_SIZE);
}

static int restore_machine(struct regs *regs, const struct machine_context *user)
{
	bool failed;
	u32 msr;

	arch_fpu_drop(current);
	msr = regs->msr;
	failed = copy_from_user(regs, user->gregs, sizeof(*regs)) ||
		 (has_fpu() && copy_from_user(&current->arch.fpr, user->fpr, FP_SIZE));
	/* A failed copy may have restored a part, which the program sees in the handler of its SIGSEGV, as on Linux. */
	regs->msr = (msr & ~MSR_FROM_USER) | (regs->msr & MSR_FROM_USER);
	regs->trap = 0;         /* not a call that could be repeated */
	regs->result = 0;
	return failed ? -EFAULT : 0;
}

static u32 frame_address(const struct regs *regs, const struct action *action, u32 size)
{
	u32 sp = altstack_enter(action, regs->gpr[1]);

	return (sp - size) & ~15u;
}

static int push_rt(struct regs *regs, struct frame_rt *frame, const struct siginfo *info, sigset mask)
{
	struct user_context *context = &frame->context;

	if (siginfo_to_user(&frame->info, info) ||
	    clear_user(context, offsetof(struct user_context, machine)) ||
	    put_user((u32)&context->machine, &context->regs) || sigset_to_user(context->mask, mask) ||
	    altstack_to_user(&context->stack, regs->gpr[1]))
		return -EFAULT;
	return save_machine(&context->machine, regs);
}

static int push_old(struct regs *regs, struct frame_old *frame, int sig, const struct action *action, sigset mask)
{
	struct signal_context context = {
		.mask_high = (u32)(mask >> 32),
		.mask_low = (u32)mask,
		.sig = (u32)sig,
		.handler = action->handler,
		.regs = (u32)&frame->machine,
	};

	if (copy_to_user(&frame->context, &context, sizeof(context)))
		return -EFAULT;
	return save_machine(&frame->machine, regs);
}

int signal_frame_push(struct regs *regs, int sig, const struct action *action, const struct siginfo *info,
		      sigset mask)
{
	bool rt = action->flags & SA_SIGINFO;
	u32 header = rt ? SIGNAL_HEADER + 16 : SIGNAL_HEADER;
	u32 size = rt ? sizeof(struct frame_rt) : sizeof(struct frame_old);
	u32 sp = frame_address(regs, action, header + ALIGN_UP(size, 16u));
	uaddr_t frame = sp + header;
	int error;

	if (!user_range_ok((void *)sp, header + size))
		return -EFAULT;
	error = rt ? push_rt(regs, (struct frame_rt *)frame, info, mask) :
		     push_old(regs, (struct frame_old *)frame, sig, action, mask);
	if (error || put_user(regs->gpr[1], (u32 *)sp))
		return -EFAULT;

	arch_fpu_save(current);
	arch_fpu_drop(current);
	current->arch.fpscr = 0;        /* a handler starts without floating-point exceptions */
	regs->gpr[1] = sp;
	regs->gpr[3] = (u32)sig;
	regs->gpr[4] = frame;           /* siginfo, or the old sigcontext */
	if (rt) {
		regs->gpr[5] = (u32) & ((struct frame_rt *)frame)->context;
		regs->gpr[6] = frame;
	}
	regs->link = rt ? TRAMPOLINE_RT_SIGRETURN : TRAMPOLINE_SIGRETURN;
	regs->nip = action->handler;
	regs->msr &= ~MSR_FROM_USER;
	regs->trap = 0;
	return 0;
}

/* The frame is invalid: sends SIGSEGV. */
static long bad_frame(uaddr_t address)
{
	task_regs(current)->trap = 0;
	signal_fault(SIGSEGV, SEGV_MAPERR, address);
	return 0;
}

long sys_sigreturn(void)
{
	struct regs *regs = task_regs(current);
	uaddr_t address = regs->gpr[1] + SIGNAL_HEADER;
	struct signal_context context;

	if (copy_from_user(&context, (void *)address, sizeof(context)) ||
	    restore_machine(regs, (const struct machine_context *)context.regs))
		return bad_frame(address);
	signal_set_blocked(((sigset)context.mask_high << 32) | context.mask_low);
	return 0;
}

long sys_rt_sigreturn(void)
{
	struct regs *regs = task_regs(current);
	uaddr_t address = regs->gpr[1] + SIGNAL_HEADER + 16;
	const struct user_context *context = &((const struct frame_rt *)address)->context;
	struct sigaltstack_abi stack;
	sigset mask;
	u32 machine;

	if (sigset_from_user(&mask, context->mask) || get_user(machine, &context->regs) ||
	    copy_from_user(&stack, &context->stack, sizeof(stack)) ||
	    restore_machine(regs, (const struct machine_context *)machine))
		return bad_frame(address);
	signal_set_blocked(mask);
	altstack_restore(&stack, regs->gpr[1]);
	return 0;
}

/*
 * Saves the caller's context, which will continue as if this call had returned 0, and loads another. Unlike a signal
 * frame, a context does not contain the thread pointer (r2).
 */
long sys_swapcontext(uaddr_t old_address, uaddr_t new_address, size_t size)
{
	struct user_context *old = (struct user_context *)old_address;
	const struct user_context *new = (const struct user_context *)new_address;
	struct regs *regs = task_regs(current), returned = *regs;
	u32 thread_pointer = regs->gpr[2], machine;
	sigset mask;

	if (size < sizeof(*old))
		return -EINVAL;
	returned.gpr[3] = 0;
	returned.ccr &= ~CCR_SO;
	if (old && (sigset_to_user(old->mask, current->blocked) || put_user((u32)&old->machine, &old->regs) ||
		    save_machine(&old->machine, &returned)))
		return -EFAULT;
	if (!new)
		return 0;
	if (sigset_from_user(&mask, new->mask) || get_user(machine, &new->regs) ||
	    !user_range_ok((const void *)machine, sizeof(struct machine_context)))
		return -EFAULT;
	if (restore_machine(regs, (const struct machine_context *)machine))
		return bad_frame(machine);
	regs->gpr[2] = thread_pointer;
	signal_set_blocked(mask);
	return 0;
}

void arch_trampoline_write(u8 *page)
{
	static const u32 code[] = {
		[0] = 0x38000000 | SYSCALL_SIGRETURN, REGS_CALL_INSTRUCTION,        /* li r0, n; sc */
		[8] = 0x38000000 | SYSCALL_RT_SIGRETURN, REGS_CALL_INSTRUCTION,
	};

	memcpy(page, code, sizeof(code));
	arch_icache_sync(page, sizeof(code));
}
