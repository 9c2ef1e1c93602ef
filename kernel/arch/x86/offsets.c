/* Offsets for assembly files. The build compiles this file to assembly and extracts the lines that begin with "->". */
#include <arch.h>
#include <arch/message.h>
#include <arch/offsets_several.h>
#include <cpu.h>
#include <mm.h>
#include <pagetable.h>
#include <syscall.h>
#include <task.h>

#define OFFSET(name, type, member) __asm__ volatile("\n->" #name " %c0" : : "i"(offsetof(type, member)))
#define VALUE(name, value) __asm__ volatile("\n->" #name " %c0" : : "i"(value))

void offsets(void);
void offsets(void)
{
	VALUE(FRAME_SIZE, sizeof(struct regs));
	OFFSET(REGS_EAX, struct regs, eax);
	OFFSET(REGS_ECX, struct regs, ecx);
	OFFSET(REGS_ESI, struct regs, esi);
	OFFSET(REGS_EDI, struct regs, edi);
	OFFSET(REGS_EBP, struct regs, ebp);
	OFFSET(REGS_EDX, struct regs, edx);
	OFFSET(REGS_TRAP, struct regs, trap);
	OFFSET(REGS_CS, struct regs, cs);
	VALUE(CALL_COUNT, SYSCALL_COUNT);
	VALUE(KERNEL_STACK_SIZE, KERNEL_STACK_SIZE);
	VALUE(STACK_TASK, STACK_TASK);
	OFFSET(TASK_WORK, struct task, work);
	OFFSET(TASK_CPU, struct task, cpu);
	OFFSET(CPU_IDLE, struct cpu, idle);
	/* gate.S */
	VALUE(IRET_SIZE, sizeof(struct regs) - offsetof(struct regs, eip));
	VALUE(SWITCH_FRAME, sizeof(struct switch_frame));
	OFFSET(BLOCK_TASK, struct message_block, task);
	OFFSET(BLOCK_NUMBER, struct message_block, number);
	OFFSET(BLOCK_PEER, struct message_block, peer);
	OFFSET(BLOCK_PASSED, struct message_block, passed);
	OFFSET(BLOCK_EBX, struct message_block, ebx);
	OFFSET(BLOCK_ESI, struct message_block, esi);
	OFFSET(BLOCK_EDI, struct message_block, edi);
	OFFSET(BLOCK_EBP, struct message_block, ebp);
	VALUE(ANYONE, MESSAGE_FROM_ANYONE);
	VALUE(CALL_MESSAGE_CALL, SYSCALL_IPC_CALL);
	VALUE(CALL_MESSAGE_REPLY_WAIT, SYSCALL_IPC_REPLY_WAIT);
	OFFSET(TASK_RUN_LINK, struct task, run_link);
	OFFSET(CPU_ACTIVE, struct cpu, active);
	OFFSET(LIST_NEXT, struct list_head, next);
	OFFSET(LIST_PREV, struct list_head, prev);
	OFFSET(TASK_STATE, struct task, state);
	OFFSET(TASK_MM, struct task, mm);
	OFFSET(TASK_PID, struct task, pid);
	OFFSET(TASK_RENDEZVOUS, struct task, rendezvous.state);
	OFFSET(TASK_PARTNER, struct task, rendezvous.partner);
	OFFSET(TASK_ESP, struct task, arch.esp);
	OFFSET(TASK_STACK_TOP, struct task, arch.stack_top);
	OFFSET(TASK_FS, struct task, arch.fs);
	OFFSET(TASK_GS, struct task, arch.gs);
	OFFSET(TASK_SELECTORS, struct task, arch.selectors);
	OFFSET(TASK_ROOT, struct task, arch.root);
	OFFSET(TASK_ACCEPTS, struct task, arch.accepts);
	OFFSET(CPU_RUNNING, struct cpu, running);
	OFFSET(CPU_MM, struct cpu, mm);
	OFFSET(CPU_ESP0, struct cpu, arch.tss.esp0);
	_Static_assert(TASK_INTERRUPTIBLE == MESSAGE_FROM_ANYONE && RENDEZVOUS_RECEIVING == MESSAGE_FROM_ANYONE,
		       "gate.S has one register for these");
	_Static_assert(TASK_RUNNING == 0 && RENDEZVOUS_NONE == 0, "and one for these");
	/* gate_calls.S */
	VALUE(TAKEN, MESSAGE_TAKEN);
	VALUE(CALL_MESSAGE_SEND, SYSCALL_IPC_SEND);
	VALUE(CALL_MESSAGE_RECEIVE, SYSCALL_IPC_RECEIVE);
	OFFSET(CPU_URGENT, struct cpu, urgent);
	OFFSET(TASK_RESULT, struct task, rendezvous.result);
	OFFSET(TASK_DONE, struct task, rendezvous.done);
	/* gate_memory.S */
	VALUE(MESSAGE_BYTES, MESSAGE_BYTES);
	VALUE(USER_END_ASM, USER_END);
	VALUE(WINDOW_ASM, WINDOW);
	VALUE(WINDOW_MOST, TABLE_SPAN - 1);
	VALUE(WINDOW_SHIFT, ROOT_SHIFT);
	VALUE(WINDOW_SLOT, WINDOW / TABLE_SPAN * sizeof(struct root_entry));
	VALUE(FOR_PROGRAMS, PTE_USER);
	VALUE(BUFFERS_SIZE, sizeof(struct ipc_buffers));
	OFFSET(BUFFERS_SEND, struct ipc_buffers, send);
	OFFSET(BUFFERS_SEND_SIZE, struct ipc_buffers, send_size);
	OFFSET(BUFFERS_RECEIVE, struct ipc_buffers, receive);
	OFFSET(BUFFERS_RECEIVE_SIZE, struct ipc_buffers, receive_size);
	OFFSET(TASK_BUFFERS, struct task, rendezvous.buffers);
	OFFSET(TASK_COPIER, struct task, rendezvous.copier);
	OFFSET(MM_ROOT, struct mm, root);
	OFFSET(CPU_WINDOW_USED, struct cpu, arch.window_used);
	_Static_assert(sizeof(struct root_entry) == 4, "gate_memory.S counts on it");
	OFFSETS_SEVERAL;
}
