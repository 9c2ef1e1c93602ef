/* How long interrupts wait. */
#ifndef LATENCY_H
#define LATENCY_H

#include <types.h>

struct regs;
struct text;

/* The longest that the decrementer's interrupt, once due, waited until its handler ran: ns. */
extern u64 latency_longest;
/* The decrementer comes at least this often, ns; 0: when a timer or the tick wants it. */
extern u64 latency_sample;

/* It waited longer than ever before, and interrupted these registers. */
void latency_note(const struct regs *, u64 ns);

/* /proc/latency (stat/latency.c). */
void latency_show(struct text *);
int latency_store(const char *, size_t);

#endif
