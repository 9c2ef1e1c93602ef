/* The invariant checker (check=on): after each operation on an address space, tree, hash table and accounts agree. */
#ifndef CHECK_H
#define CHECK_H

#include <arch.h>
#include <lib.h>

/* Panics with the operation's name and the first contradictions. */
void check_run(const char *operation);
extern u64 check_runs;

static inline void check_translations(const char *operation)
{
	if (unlikely(boot.check))
		check_run(operation);
}

#endif
