/* Offsets for assembly files. The build compiles this file to assembly and extracts the lines that begin with "->". */
#include <arch.h>
#include <cpu.h>
#include <syscall.h>
#include <task.h>

#define OFFSET(name, type, member) __asm__ volatile("\n->" #name " %c0" : : "i"(offsetof(type, member)))
#define VALUE(name, value) __asm__ volatile("\n->" #name " %c0" : : "i"(value))

void offsets(void);
void offsets(void)
{
	VALUE(FRAME_SIZE, sizeof(struct regs));
	OFFSET(REGS_EAX, struct regs, eax);
	OFFSET(REGS_TRAP, struct regs, trap);
	OFFSET(REGS_CS, struct regs, cs);
	VALUE(CALL_COUNT, SYSCALL_COUNT);
	VALUE(KERNEL_STACK_SIZE, KERNEL_STACK_SIZE);
	VALUE(STACK_TASK, STACK_TASK);
	OFFSET(TASK_WORK, struct task, work);
	OFFSET(CPU_IDLE, struct cpu, idle);
}
