/* What the files of the PPC405's backend share. */
#ifndef SOFT405_H
#define SOFT405_H
#include <types.h>

struct regs;

/* exceptions.c and backend.c, called from the vectors' images */
void exception_soft405_miss(struct regs *regs);
void exception_fetch_refused(struct regs *regs);
void exception_program405(struct regs *regs, u32 esr);
void exception_pit(struct regs *regs);
void exception_external405(struct regs *regs);

/* switch.S */
extern const u32 switch_to405[], switch_away405[];

#endif
