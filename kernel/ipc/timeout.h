/* A timeout in user memory, in any of the ABI's three forms, that gets what is left of it. */
#ifndef TIMEOUT_H
#define TIMEOUT_H

#include <types.h>

enum timeout_form { TIMESPEC32, TIMESPEC64, TIMEVAL32 };

struct timeout {
	u64 deadline;	/* ns since boot; 0: do not wait; TIME_NEVER */
	void *user;	/* NULL: none was given */
	enum timeout_form form;
};

int timeout_load(struct timeout *, void *user, enum timeout_form);
/* A place that cannot be written is left alone, as Linux does. */
void timeout_store(const struct timeout *);

#endif
