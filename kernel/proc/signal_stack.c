/* The alternate stack of signal handlers, and the page to which handlers return. */
#include <abi/ucontext.h>
#include <arch.h>
#include <err.h>
#include <errno.h>
#include <file.h>
#include <fs.h>
#include <lib.h>
#include <mm.h>
#include <signal.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

static const struct sigaltstack_abi no_stack = { .flags = SS_DISABLE };

static bool on_altstack(uaddr_t sp)
{
	const struct sigaltstack_abi *stack = &current->altstack;

	return stack->size && sp > stack->sp && sp - stack->sp <= stack->size;
}

/* As a program sees it that has the stack pointer `sp`. */
static struct sigaltstack_abi altstack_seen(uaddr_t sp)
{
	struct sigaltstack_abi stack = current->altstack;
	u32 state = !stack.size ? SS_DISABLE : on_altstack(sp) ? SS_ONSTACK : 0;

	stack.flags = (s32)(state | ((u32)stack.flags & SS_AUTODISARM));
	return stack;
}

static void altstack_set(struct sigaltstack_abi stack)
{
	stack.flags &= ~SS_ONSTACK;
	current->altstack = (u32)stack.flags & SS_DISABLE ? no_stack : stack;
}

uaddr_t altstack_enter(const struct action *action, uaddr_t sp)
{
	if ((action->flags & SA_ONSTACK) && current->altstack.size && !on_altstack(sp))
		return current->altstack.sp + current->altstack.size;
	return sp;
}

int altstack_to_user(struct sigaltstack_abi *user, uaddr_t sp)
{
	struct sigaltstack_abi stack = altstack_seen(sp);

	if (copy_to_user(user, &stack, sizeof(stack)))
		return -EFAULT;
	if ((u32)stack.flags & SS_AUTODISARM)
		current->altstack = no_stack;
	return 0;
}

void altstack_restore(const struct sigaltstack_abi *stack, uaddr_t sp)
{
	if (!on_altstack(sp))
		altstack_set(*stack);
}

long sys_sigaltstack(const struct sigaltstack_abi *new, struct sigaltstack_abi *old)
{
	uaddr_t sp = regs_stack(task_regs(current));
	struct sigaltstack_abi stack, was = altstack_seen(sp);

	if (new) {
		if (copy_from_user(&stack, new, sizeof(stack)))
			return -EFAULT;
		if (on_altstack(sp))
			return -EPERM;
		if (((u32)stack.flags & ~SS_AUTODISARM) > SS_DISABLE)
			return -EINVAL;
		if (!(stack.flags & SS_DISABLE) && stack.size < MINSIGSTKSZ)
			return -ENOMEM;
		altstack_set(stack);
	}
	if (old && copy_to_user(old, &was, sizeof(was)))
		return -EFAULT;
	return 0;
}

/*
 * Handlers return to code in a page that every program has at TRAMPOLINE_ADDRESS, so that no stack needs to be
 * executable. On PowerPC Linux has its vDSO there.
 */
static struct file *trampoline_file;

void trampoline_init(void)
{
	struct inode *inode = inode_anonymous(PAGE_SIZE);
	struct dentry *dentry = inode ? dentry_new(NULL, "[signal]", 8, inode) : NULL;
	struct frame *frame;

	if (!dentry || IS_ERR(dentry) || inode_page(inode, 0, &frame))
		fatal(EXIT_MEMORY, "signal trampoline: no memory");
	arch_trampoline_write(frame_kva(frame));
	frame_put(frame);
	trampoline_file = file_open_dentry(dentry, O_RDONLY);
	if (IS_ERR(trampoline_file))
		fatal(EXIT_MEMORY, "signal trampoline: no memory");
	dentry_put(dentry);
	inode_put(inode);
}

int trampoline_map(struct mm *mm)
{
	uaddr_t address = mm_map(mm, TRAMPOLINE_ADDRESS, PAGE_SIZE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
				 trampoline_file, 0);

	return IS_ERR_VALUE(address) ? (int)address : 0;
}
