/* Windows: points in a long call where interrupts and other tasks may run. */
#ifndef WINDOW_H
#define WINDOW_H
#include <list.h>
#include <types.h>

/*
 * The kernel runs with interrupts off. A long call takes pending interrupts between two pieces of its work.
 * interrupt_window() runs their handlers and nothing else. preemption_point() also lets other tasks run, so its caller
 * must hold nothing that they could change.
 */
void interrupt_window(void);
void preemption_point(void);
/* Opens a window; true: other tasks wait to run. For callers that must prepare before preemption_point(). */
bool preemption_due(void);
/*
 * The next step of a loop over a list that other tasks may change: lets them run if they wait. `at` is the element just
 * visited, and `passed` the number visited so far. If others ran, the loop continues after the list's first `passed`
 * elements, otherwise after `at`. Returns the next element, or `head` at the end of the list.
 */
struct list_head;
const struct list_head *list_next_meanwhile(const struct list_head *head, const struct list_head *at, u32 passed);
/* For loops with short steps (over pages, entries, files): opens a window every WINDOW_STEPS steps. */
#define WINDOW_STEPS 32u
static inline void interrupt_window_at(u32 step)
{
	if (step % WINDOW_STEPS == 0)
		interrupt_window();
}

/* for (u32 i = first; goes_on; i++), where that may be many: opens windows. */
#define for_each_window(i, first, goes_on)                                                                  \
	for (u32 i = (first); (goes_on) && (interrupt_window_at(i), true); i++)

/*
 * list_for_each_entry() and list_for_each_entry_safe() for lists that may be long: opens windows. Interrupt handlers do
 * not change the lists of tasks, files and areas.
 */
#define list_for_each_window(e, head, member)                                                                \
	for (u32 steps_ = (e = list_first_entry(head, __typeof__(*e), member), 0);                            \
	     &e->member != (head) && (interrupt_window_at(++steps_), true);                                   \
	     e = list_entry(e->member.next, __typeof__(*e), member))
#define list_for_each_window_safe(e, n, head, member)                                                        \
	for (u32 steps_ = (e = list_first_entry(head, __typeof__(*e), member),                                \
			   n = list_entry(e->member.next, __typeof__(*e), member), 0);                        \
	     &e->member != (head) && (interrupt_window_at(++steps_), true);                                   \
	     e = n, n = list_entry(n->member.next, __typeof__(*n), member))

/* Until the list is empty: e is its first element, which the body removes. Opens windows. */
#define list_until_empty_window(e, head, member)                                                             \
	for (u32 steps_ = 0; !list_empty(head) && (e = list_first_entry(head, __typeof__(*e), member), true); \
	     interrupt_window_at(++steps_))
/* The same, where others may run after each element, and may remove what is left. */
#define list_until_empty_meanwhile(e, head, member)                                                          \
	for (; !list_empty(head) && (e = list_first_entry(head, __typeof__(*e), member), true);              \
	     preemption_point())
/* A chain without a list head, or any walk by single steps: `next` is an expression of e. Opens windows. */
#define for_each_link_window(e, first, next)                                                                 \
	for (u32 steps_ = (e = (first), 0); e && (interrupt_window_at(++steps_), true); e = (next))

/* The same where one step takes long: a window before each. */
#define list_for_each_long(e, head, member)                                                                  \
	for (e = list_first_entry(head, __typeof__(*e), member);                                             \
	     &e->member != (head) && (interrupt_window(), true);                                             \
	     e = list_entry(e->member.next, __typeof__(*e), member))
#define list_for_each_long_safe(e, n, head, member)                                                          \
	for (e = list_first_entry(head, __typeof__(*e), member),                                             \
	    n = list_entry(e->member.next, __typeof__(*e), member);                                          \
	     &e->member != (head) && (interrupt_window(), true);                                             \
	     e = n, n = list_entry(n->member.next, __typeof__(*n), member))
#define for_each_link_long(e, first, next) for (e = (first); e && (interrupt_window(), true); e = (next))
#define for_each_piece_long(i, end, piece)                                                                   \
	for (u32 i = 0; i < (end) && (interrupt_window(), true); i += (piece))

#endif
