/* The counts of stat/tick.c, for the files that show them. */
#ifndef TICK_H
#define TICK_H

#include <types.h>

struct text;

extern u64 ticks_user, ticks_system;	/* 1/100 s, since boot */

void profile_show(struct text *);
int profile_store(const char *, size_t);

#endif
