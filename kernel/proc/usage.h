/* getrusage's figures, added up and in the ABI's form. */
#ifndef PROC_USAGE_H
#define PROC_USAGE_H

#include <proc.h>

/* struct rusage of a 32-bit program: two timevals and fourteen words. */
struct rusage32 {
	struct timeval32 user, system;
	s32 max_resident_kb;
	s32 shared, data, stack;        /* never filled in, as on Linux */
	s32 minor_faults, major_faults;
	s32 swaps, blocks_in, blocks_out, messages_sent, messages_received, signals;
	s32 voluntary_switches, involuntary_switches;
};

void usage_add(struct usage *sum, const struct usage *more);
int usage_to_user(struct rusage32 *user, const struct usage *usage);

#endif
