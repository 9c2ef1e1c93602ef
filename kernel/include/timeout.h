/* A timeout in user memory, in any of the ABI's three forms; the remaining time is stored back. */
#ifndef TIMEOUT_H
#define TIMEOUT_H
#include <types.h>

enum timeout_form { TIMESPEC32, TIMESPEC64, TIMEVAL32 };

struct timeout {
	u64 deadline;   /* ns since boot; 0: do not wait; TIME_NEVER */
	void *user;     /* NULL: none was given */
	enum timeout_form form;
};

int timeout_load(struct timeout *, void *user, enum timeout_form);
/* If the memory cannot be written, nothing happens, as on Linux. */
void timeout_store(const struct timeout *);

#endif
