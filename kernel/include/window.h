/* Windows: where a long call lets interrupts in, and others run. */
#ifndef WINDOW_H
#define WINDOW_H

#include <types.h>

/*
 * The kernel runs with interrupts off. A call that takes long lets in those that wait, between two pieces of its work:
 * interrupt_window() runs their handlers and nothing else; preemption_point() also lets others run whose turn it is,
 * so the caller must hold nothing that they could change under it.
 */
void interrupt_window(void);
void preemption_point(void);
/* In a loop with short steps (over pages, entries, files): opens a window every WINDOW_STEPS steps. */
#define WINDOW_STEPS 32u
static inline void interrupt_window_at(u32 step)
{
	if (step % WINDOW_STEPS == 0)
		interrupt_window();
}

#endif
