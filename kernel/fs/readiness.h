/* Waiting for several files at once: the common part of poll and select. */
#ifndef READINESS_H
#define READINESS_H
#include <errno.h>
#include <file.h>
#include <poll.h>
#include <task.h>

struct poll_entry {
	struct file *file;      /* NULL: ignored */
	u16 events;             /* requested */
	u16 ready;              /* found */
};

/*
 * Waits until an entry is ready, the deadline (ns since boot) has passed, or a signal came. Returns the number of
 * ready entries, 0 at the deadline, -ERESTARTNOHAND, or -ENOMEM.
 */
long poll_entries(struct poll_entry *, u32 count, u64 deadline);
void poll_entries_put(struct poll_entry *, u32 count);

/* What a call returns that finds nothing ready and does not wait: -ERESTARTNOHAND if a signal is there, else 0. */
static inline long poll_interrupted(void) { return signal_pending() ? -ERESTARTNOHAND : 0; }

/* Converts a relative timeout to a deadline: 0 stays 0 (do not wait). */
u64 poll_deadline(u64 timeout_ns);

#endif
