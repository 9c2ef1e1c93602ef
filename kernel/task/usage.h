/* Adding up getrusage's figures, and converting them to the ABI's form. */
#ifndef PROC_USAGE_H
#define PROC_USAGE_H
#include <abi/process.h>
#include <process.h>

void usage_add(struct usage *sum, const struct usage *more);
int usage_to_user(struct rusage32 *user, const struct usage *usage);

#endif
