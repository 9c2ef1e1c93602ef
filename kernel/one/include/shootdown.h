/*
 * One processor: its own TLB is all there is, so that nothing is shot down. several/include/shootdown.h has the same
 * names, and says what they are.
 */
#ifndef SHOOTDOWN_H
#define SHOOTDOWN_H
#include <flush.h>
#include <types.h>

struct frame;
struct mm;
struct root_entry;

struct mm_flushes {
};

#define shootdown_deferred false
static inline void shootdown(struct mm *mm, uaddr_t start, uaddr_t end)
{
	(void)mm;
	(void)start;
	(void)end;
}
static inline void shootdown_kernel(vaddr_t start, vaddr_t end, enum shootdown_reason why)
{
	(void)start;
	(void)end;
	(void)why;
}
static inline void shootdown_kernel_mapped(vaddr_t page) { (void)page; }
static inline void shootdown_reuse(struct mm *mm, uaddr_t start, uaddr_t end) { shootdown(mm, start, end); }
#define shootdown_unseen(mm) ((void)(mm), false)
static inline void frame_hold(struct frame *frame) { (void)frame; }
static inline bool frames_return_held(void) { return false; }
static inline void frames_held_each(void (*function)(const struct frame *frame)) { (void)function; }
static inline void shootdown_context(struct mm *mm) { (void)mm; }
static inline void shootdown_forget(struct mm *mm) { (void)mm; }
static inline void shootdown_leave(struct mm *mm) { (void)mm; }
static inline bool shootdown_put_off(const struct root_entry *root) { (void)root; return false; }
static inline void shootdown_entered(void) { }
static inline bool shootdown_enter(struct mm *mm) { (void)mm; return false; }
static inline void shootdown_proc_init(void) { }
static inline void range_hide(struct mm *mm, uaddr_t start, uaddr_t end) { shootdown(mm, start, end); }

#endif
