/* The statistics that are taken at each tick of the timer. */
#ifndef STAT_TICK_H
#define STAT_TICK_H
#include <types.h>

struct regs;
struct text;

/*
 * Counts a tick for /proc/stat, as the program's (user) or the kernel's: whichever ran when it was due. /proc/profile,
 * while it is on, counts the instruction that the tick interrupted.
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
