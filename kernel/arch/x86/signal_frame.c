/* Signal frames: pushing one on a program's stack, and returning from a handler. */
#include <abi/ucontext.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "internal.h"

#define FLAGS_CLEARED (EFLAGS_DF | EFLAGS_RF | EFLAGS_TF)       /* a handler begins without them */

_Static_assert(sizeof(((struct float_state *)0)->image) == FLOAT_STATE_SIZE, "what FNSAVE stores");

static int save_machine(struct signal_context *user, struct float_state *fp, const struct regs *regs, u32 mask)
{
	struct signal_context context = {
		.gs = segment_read_gs(), .fs = segment_read_fs(), .es = (u16)regs->es, .ds = (u16)regs->ds,
		.edi = regs->edi, .esi = regs->esi, .ebp = regs->ebp, .esp = regs->esp, .ebx = regs->ebx,
		.edx = regs->edx, .ecx = regs->ecx, .eax = regs->eax,
		.trap = regs->trap < 32 ? regs->trap : 0, .error = regs->trap < 32 ? regs->error : 0,
		.eip = regs->eip, .cs = (u16)regs->cs, .eflags = step_flags(current, regs->eflags),
		.esp_again = regs->esp,
		.ss = (u16)regs->ss, .fpstate = (u32)fp, .old_mask = mask, .cr2 = current->arch.fault_address,
	};
	u32 status;

	arch_fpu_save(current);
	status = current->arch.fp[4] | (u32)current->arch.fp[5] << 8 | FLOAT_STATE_PLAIN << 16;
	if (copy_to_user(user, &context, sizeof(context)) ||
	    copy_to_user(fp->image, current->arch.fp, FLOAT_STATE_SIZE) || put_user(status, (u32 *)&fp->status))
		return -EFAULT;
	return 0;
}

/* Selectors must be of privilege 3 or 0 (none): others would fault in the kernel, at its exit or at a switch. */
static u32 selector_of(u16 value)
{
	return (value & 3) == 3 || !value ? value : 0;
}

/* Whether the selector is one of the program's own table (ldt.c). */
static bool is_local(u16 selector)
{
	return selector & 4;
}

static int restore_machine(struct regs *regs, const struct signal_context *user)
{
	struct signal_context context;

	if (copy_from_user(&context, user, sizeof(context)))
		return -EFAULT;
	arch_fpu_drop(current);
	if (context.fpstate &&
	    copy_from_user(current->arch.fp, ((const struct float_state *)context.fpstate)->image, FLOAT_STATE_SIZE))
		return -EFAULT;
	*regs = (struct regs){
		.ebx = context.ebx, .ecx = context.ecx, .edx = context.edx, .esi = context.esi, .edi = context.edi,
		.ebp = context.ebp, .eax = context.eax, .ds = selector_of(context.ds), .es = selector_of(context.es),
		.eip = context.eip, .cs = is_local(context.cs) ? context.cs | 3u : USER_CS,
		.esp = context.esp, .ss = context.ss | 3,
		.eflags = (regs->eflags & ~(u32)EFLAGS_FROM_USER) | (context.eflags & EFLAGS_FROM_USER),
	};
	step_forget(current);
	if (is_local(context.fs) || is_local(context.gs))
		(void)local_table_refresh();
	segments_write(selector_of(context.fs), selector_of(context.gs));
	return 0;
}

/* A function begins with esp + 4 at a multiple of 16 (System V ABI, i386). */
static u32 frame_address(const struct regs *regs, const struct action *action, u32 size)
{
	u32 sp = altstack_enter(action, regs->esp);

	return ((sp - size + 4) & ~15u) - 4;
}

/* What a frame holds for debuggers, which know handlers by it: the code that TRAMPOLINE_* has too. */
/* pop eax; mov eax, n; int 0x80; without the first for the other form */
static const u8 code_old[8] = { 0x58, 0xb8, SYSCALL_SIGRETURN, 0, 0, 0, 0xcd, 0x80 };
static const u8 code_rt[8] = { 0xb8, SYSCALL_RT_SIGRETURN, 0, 0, 0, 0xcd, 0x80 };

static u32 return_address(const struct action *action, u32 trampoline)
{
	return action->flags & SA_RESTORER && action->restorer ? action->restorer : trampoline;
}

static int push_rt(struct regs *regs, struct frame_rt *frame, int sig, const struct action *action,
		   const struct siginfo *info, sigset mask)
{
	struct user_context *context = &frame->context;
	const u32 head[4] = {
		return_address(action, TRAMPOLINE_RT_SIGRETURN), (u32)sig, (u32)&frame->info, (u32)context,
	};

	if (copy_to_user(frame, head, sizeof(head)) || siginfo_to_user(&frame->info, info) ||
	    clear_user(context, sizeof(*context)) || sigset_to_user(context->mask, mask) ||
	    copy_to_user(frame->code, code_rt, sizeof(code_rt)) || altstack_to_user(&context->stack, regs->esp))
		return -EFAULT;
	return save_machine(&context->machine, &frame->fp, regs, (u32)mask);
}

static int push_old(struct regs *regs, struct frame_old *frame, int sig, const struct action *action, sigset mask)
{
	const u32 head[2] = { return_address(action, TRAMPOLINE_SIGRETURN), (u32)sig };

	if (copy_to_user(frame, head, sizeof(head)) || put_user((u32)(mask >> 32), &frame->mask_high) ||
	    copy_to_user(frame->code, code_old, sizeof(code_old)))
		return -EFAULT;
	return save_machine(&frame->machine, &frame->fp, regs, (u32)mask);
}

int signal_frame_push(struct regs *regs, int sig, const struct action *action, const struct siginfo *info, sigset mask)
{
	bool rt = action->flags & SA_SIGINFO;
	u32 size = rt ? sizeof(struct frame_rt) : sizeof(struct frame_old);
	u32 sp = frame_address(regs, action, size);
	int error;

	if (!user_range_ok((void *)sp, size))
		return -EFAULT;
	error = rt ? push_rt(regs, (struct frame_rt *)sp, sig, action, info, mask) :
		     push_old(regs, (struct frame_old *)sp, sig, action, mask);
	if (error)
		return -EFAULT;
	arch_fpu_drop(current);
	fp_initialise(current);
	regs->esp = sp;
	regs->eax = (u32)sig;           /* for handlers that expect their arguments in registers */
	regs->edx = rt ? (u32)&((struct frame_rt *)sp)->info : 0;
	regs->ecx = rt ? (u32)&((struct frame_rt *)sp)->context : 0;
	regs->eip = action->handler;
	regs->ds = regs->es = regs->ss = USER_DS;
	regs->cs = USER_CS;
	regs->eflags &= ~(u32)FLAGS_CLEARED;
	step_forget(current);
	regs_no_call(regs);
	return 0;
}

/* The frame is invalid: sends SIGSEGV. */
static long bad_frame(void)
{
	regs_no_call(task_regs(current));
	signal_fault(SIGSEGV, SI_KERNEL, 0);
	return 0;
}

/* The handler's return has popped the frame's return address; code_old pops the signal's number too. */
long sys_sigreturn(void)
{
	struct regs *regs = task_regs(current);
	const struct frame_old *frame = (const struct frame_old *)(regs->esp - 8);
	u32 low, high;

	if (get_user(low, &frame->machine.old_mask) || get_user(high, &frame->mask_high) ||
	    restore_machine(regs, &frame->machine))
		return bad_frame();
	signal_set_blocked((sigset)high << 32 | low);
	return 0;
}

long sys_rt_sigreturn(void)
{
	struct regs *regs = task_regs(current);
	const struct user_context *context = &((const struct frame_rt *)(regs->esp - 4))->context;
	struct sigaltstack_abi stack;
	sigset mask;

	if (sigset_from_user(&mask, context->mask) || copy_from_user(&stack, &context->stack, sizeof(stack)) ||
	    restore_machine(regs, &context->machine))
		return bad_frame();
	signal_set_blocked(mask);
	altstack_restore(&stack, regs->esp);
	return 0;
}

void arch_trampoline_write(u8 *page)
{
	memcpy(page + TRAMPOLINE_SIGRETURN % PAGE_SIZE, code_old, sizeof(code_old));
	memcpy(page + TRAMPOLINE_RT_SIGRETURN % PAGE_SIZE, code_rt, sizeof(code_rt));
}
