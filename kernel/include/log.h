/* The kernel's log, which syslog(2) reads. */
#ifndef LOG_H
#define LOG_H

#include <types.h>

/* Appends; the oldest bytes make room. */
void log_write(const char *, size_t size);

#endif
