/* What a form of policy `shootdown` does (policy/shootdown_*.c). */
#ifndef SEVERAL_SHOOTDOWN_H
#define SEVERAL_SHOOTDOWN_H
#include <mm.h>
#include <shootdown.h>
#include <types.h>

/* Pages [start, end) of an address space, or, above the cutoff, all pages. mm is NULL for pages of the kernel. */
struct flush_request {
	struct mm *mm;
	uaddr_t start, end;
	bool all;
	enum shootdown_reason why;
};

/* What a shootdown is for. */
enum shootdown_kind { SHOOTDOWN_PAGE, SHOOTDOWN_RANGE, SHOOTDOWN_ALL, SHOOTDOWN_CONTEXT, SHOOTDOWN_END,
	SHOOTDOWN_KINDS };

struct shootdown_form {
	const char *name;
	/*
	 * `targets` run the address space. Returns those of them that must be asked; the others catch up by themselves.
	 */
	u32 (*asked)(u32 targets);
	/*
	 * The same for pages of an address space. Here a form also serves its own processor, and may ask more
	 * processors than those that run the address space.
	 */
	u32 (*asked_of_pages)(u32 targets, const struct flush_request *request);
	/* Asks these processors, and returns when all have flushed; with generation also before. */
	void (*flush)(u32 targets, const struct flush_request *request);
	/* Runs on each processor that is asked: does what it is asked, if anything. */
	void (*answer)(void);
	/* Interrupts go to the short handler, which reads flush_words; answer() is only for processors that poll. */
	bool in_assembly;
	/* Called when another form is chosen, or NULL. */
	void (*leave)(void);
	/* After the first entry of a page has come into an address space's tree; NULL: nothing is done. */
	void (*first)(struct mm *mm, vaddr_t address);
	/* A page of the kernel is shot down also when it is mapped, not only when it is unmapped. */
	bool at_map;
};
extern const struct shootdown_form shootdown_broadcast, shootdown_queue, shootdown_short, shootdown_lazy,
	shootdown_generation, shootdown_queue_own, shootdown_short_all;

/* shootdown_generation.c: whether every processor has made the flushes up to this one; makes all processors do so. */
bool generation_passed(u32 number);
void generation_settle(void);
u32 generation_newest(void);
/* shootdown_queue_own.c: pages that have been jobs of their own processor alone. */
u64 shootdowns_own(void);
/* held.c */
void frames_held_look(void);            /* gives up the frames that are safe */
struct text;
void frames_held_show(struct text *text);
extern u32 shootdowns_deferred;

/*
 * Whether unmapping returns before other processors have flushed: then they look later, and frames are held until then.
 */
void shootdown_bind_deferred(bool on);
/* Has these processors run a function, and waits until they have. */
void shootdown_call(u32 targets, void (*function)(void *argument), void *argument);
/* Interrupts these processors to flush. */
void shootdown_send(u32 targets);
/* All of the set; those that the form asks; those that do not doze. Who dozes empties its TLB before a program runs. */
u32 shootdown_all(u32 targets);
u32 shootdown_asked(u32 targets, const struct flush_request *request);
u32 shootdown_awake(u32 targets);
/* Flushes a request from this processor's TLB. */
void shootdown_do(const struct flush_request *request);

#endif
