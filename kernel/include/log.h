/* The kernel's log, which syslog(2) reads. */
#ifndef LOG_H
#define LOG_H

#include <types.h>

/* Appends to the log, overwriting the oldest bytes. */
void log_write(const char *, size_t size);

#endif
