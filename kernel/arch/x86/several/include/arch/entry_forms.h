/* What entry and exit do with several processors: they take the kernel lock and let it go. */
#ifndef ARCH_ENTRY_FORMS_H
#define ARCH_ENTRY_FORMS_H

/* The handler's locked form (several/start.c). */
.macro handle handler
	call	\handler\()_locked
.endm

/* The lean entry. A C function may change eax, ecx and edx. */
.macro lock_for_call
	call	kernel_lock
	movl	REGS_EAX(%esp), %eax
	movl	REGS_ECX(%esp), %ecx
	movl	REGS_EDX(%esp), %edx
.endm

/* The exit: kernel_leave() does the work of a task that returns to its program. */
.macro finish
	movl	%esp, %eax
	call	kernel_leave
.endm
.macro finish_work
.endm

#endif
