/* How long interrupts wait. */
#ifndef LATENCY_H
#define LATENCY_H
#include <types.h>

struct regs;
struct text;

/* The longest time in ns from when the timer interrupt was due until its handler ran. */
extern u64 latency_longest;
/* The longest interval between timer interrupts in ns; 0: it comes when a timer or the tick needs it. */
extern u64 latency_sample;

/* Records a new longest wait, with the registers of the code that the interrupt interrupted. */
void latency_note(const struct regs *, u64 ns);

/* /proc/latency (task/latency.c). */
void latency_show(struct text *);
int latency_store(const char *, size_t);

#endif
