/* The kernel's own sampling profile: /proc/profile. */
#ifndef PROFILE_H
#define PROFILE_H

struct regs;

/* From each tick of the decrementer, with what it interrupted. Nothing unless profiling is on. */
void profile_tick(const struct regs *);

#endif
