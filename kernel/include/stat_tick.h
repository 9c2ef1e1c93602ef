/* The statistics that are taken at each tick of the timer. */
#ifndef STAT_TICK_H
#define STAT_TICK_H

struct regs;

/* Counts what the tick interrupted, for /proc/stat, and for /proc/profile while it is on. */
void stat_tick(const struct regs *);

#endif
