/* The statistics that are taken at each tick of the timer. */
#ifndef STAT_TICK_H
#define STAT_TICK_H
#include <types.h>

struct regs;
struct text;

/*
 * Counts a tick that was due while a program ran (user), or the kernel: for /proc/stat. What it interrupted counts for
 * /proc/profile while that is on.
 */
void stat_tick(const struct regs *, bool user);

/*
 * Counts a sample of arch_sample() for /proc/profile, and `lost` others behind it, which could not be taken. idle:
 * the processor waited for an interrupt there.
 */
void stat_sample(vaddr_t address, bool idle, u32 lost);

/* /proc/profile. */
void profile_show(struct text *);
int profile_store(const char *, size_t);

#endif
