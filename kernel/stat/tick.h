/* The counts of stat/tick.c, for the files that show them. */
#ifndef TICK_H
#define TICK_H

#include <types.h>

struct text;

void profile_show(struct text *);
int profile_store(const char *, size_t);

#endif
