/* The statistics that are taken at each tick of the timer. */
#ifndef STAT_TICK_H
#define STAT_TICK_H

#include <types.h>

struct regs;

/*
 * Counts a tick that was due while a program ran (user), or the kernel: for /proc/stat. What it interrupted counts for
 * /proc/profile while that is on.
 */
void stat_tick(const struct regs *, bool user);

#endif
