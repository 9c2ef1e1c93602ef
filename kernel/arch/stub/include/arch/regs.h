/* The registers that an exception saves, and what may be asked of them. */
#ifndef ARCH_REGS_H
#define ARCH_REGS_H
#include <types.h>

struct regs {
	u32 pc, stack;
};

bool regs_user(const struct regs *regs);
bool regs_fault(const struct regs *regs);
u32 regs_pc(const struct regs *regs);
u32 regs_caller(const struct regs *regs);
u32 regs_stack(const struct regs *regs);
void regs_set_stack(struct regs *regs, u32 address);
void regs_set_thread_pointer(struct regs *regs, u32 value);
int thread_pointer_check(u32 value);
u32 regs_argument(const struct regs *regs, unsigned n);
void regs_set_argument(struct regs *regs, unsigned n, u32 value);
u32 regs_error(const struct regs *regs);
void regs_set_error(struct regs *regs, u32 error);
void regs_call_again(struct regs *regs);
void regs_set_call(struct regs *regs, u32 number);
void regs_no_call(struct regs *regs);
bool regs_word_calls(u32 word);
u32 regs_pc_before(const struct regs *regs);
void regs_set_stepping(struct regs *regs, bool on);

#endif
