/* Offsets for assembly files. The build compiles this file to assembly and extracts the lines that begin with "->". */
#include <arch.h>
#include <arch/core.h>
#include <arch/entry.h>
#include <arch/message.h>
#include <arch/offsets_several.h>
#include <arch/vsid.h>
#include <board.h>
#include <control.h>
#include <cpu.h>
#include <mm.h>
#include <syscall.h>
#include <task.h>

#include "control_device.h"

#define OFFSET(name, type, member) __asm__ volatile("\n->" #name " %0" : : "i"(offsetof(type, member)))
#define VALUE(name, value) __asm__ volatile("\n->" #name " %0" : : "i"(value))

void offsets(void);
void offsets(void)
{
	/* A stack frame of an exception: 16 bytes of ABI header, then struct regs. */
	VALUE(FRAME_SIZE, 16 + sizeof(struct regs));
	VALUE(FRAME_REGS, 16);
	VALUE(FRAME_GPR, 16 + offsetof(struct regs, gpr));
	VALUE(FRAME_NIP, 16 + offsetof(struct regs, nip));
	VALUE(FRAME_MSR, 16 + offsetof(struct regs, msr));
	VALUE(FRAME_ORIG_GPR3, 16 + offsetof(struct regs, orig_gpr3));
	VALUE(FRAME_CTR, 16 + offsetof(struct regs, ctr));
	VALUE(FRAME_LINK, 16 + offsetof(struct regs, link));
	VALUE(FRAME_XER, 16 + offsetof(struct regs, xer));
	VALUE(FRAME_CCR, 16 + offsetof(struct regs, ccr));
	VALUE(FRAME_MQ, 16 + offsetof(struct regs, mq));
	VALUE(FRAME_TRAP, 16 + offsetof(struct regs, trap));
	VALUE(FRAME_DAR, 16 + offsetof(struct regs, dar));
	VALUE(FRAME_DSISR, 16 + offsetof(struct regs, dsisr));
	VALUE(FRAME_RESULT, 16 + offsetof(struct regs, result));
	VALUE(KERNEL_STACK_SIZE, KERNEL_STACK_SIZE);
	VALUE(TLB_SETS, ARCH_TLB_SETS);
	VALUE(LEAN_CALLS, LEAN_CALLS);
	OFFSET(CORE_VERSION, struct core, version);
	OFFSET(CORE_START, struct core, start);
	VALUE(CORE_SIZE, sizeof(struct core));
	OFFSET(CPU_IDLE, struct cpu, idle);
	OFFSET(CPU_SOFT_PREPARED, struct cpu, arch.soft_prepared);
	OFFSET(TASK_WORK, struct task, work);
	OFFSET(TASK_CPU, struct task, cpu);
	OFFSET(TASK_ARCH, struct task, arch);
	OFFSET(ARCH_KSP, struct arch_task, ksp);
	OFFSET(ARCH_STACK_TOP, struct arch_task, stack_top);
	OFFSET(ARCH_FRAME, struct arch_task, frame_pa);
	OFFSET(ARCH_TASK, struct arch_task, task);
	/* gate.S */
	OFFSET(ARCH_ACCEPTS, struct arch_task, accepts);
	OFFSET(ARCH_PEER, struct arch_task, peer_pa);
	OFFSET(ARCH_PEER_NUMBER, struct arch_task, peer_number);
	OFFSET(ARCH_PASSED, struct arch_task, passed);
	OFFSET(TASK_STATE, struct task, state);
	OFFSET(TASK_MM, struct task, mm);
	OFFSET(TASK_TGID, struct task, tgid);
	OFFSET(TASK_PID, struct task, pid);
	OFFSET(TASK_RUN_TICKS, struct task, run_ticks);
	OFFSET(TASK_RENDEZVOUS, struct task, rendezvous.state);
	OFFSET(TASK_PARTNER, struct task, rendezvous.partner);
	OFFSET(CPU_RUNNING, struct cpu, running);
	OFFSET(CPU_MM, struct cpu, mm);
	OFFSET(CPU_RUN_SINCE, struct cpu, run_since);
	OFFSET(MM_ROOT, struct mm, root);
	OFFSET(MM_GENERATION, struct mm, context.generation);
	OFFSET(MM_SEGMENT_BASE, struct mm, context.segment_base);
	OFFSET(VSID_STEP, struct vsid_form, step);
	VALUE(CONTROL_CONTEXT_PA, CONTROL_PA + CONTROL_CONTEXT);
	VALUE(ANYONE, MESSAGE_FROM_ANYONE);
	VALUE(CALL_IPC_CALL, SYSCALL_IPC_CALL);
	VALUE(CALL_IPC_REPLY_WAIT, SYSCALL_IPC_REPLY_WAIT);
	_Static_assert(TASK_INTERRUPTIBLE == MESSAGE_FROM_ANYONE && RENDEZVOUS_RECEIVING == MESSAGE_FROM_ANYONE,
		       "gate.S has one register for these");
	_Static_assert(TASK_RUNNING == 0 && RENDEZVOUS_NONE == 0, "and one for these");
	OFFSET(ARCH_SCRATCH, struct arch_task, scratch);
	OFFSET(ARCH_USPRG, struct arch_task, usprg);
	OFFSETS_SEVERAL;
}
