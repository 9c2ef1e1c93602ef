/* panic() with the registers of an exception. */
#ifndef PANIC_H
#define PANIC_H

struct regs;

__attribute__((noreturn, format(printf, 2, 3)))
void panic_regs(const struct regs *regs, const char *format, ...);

#endif
