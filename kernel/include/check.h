/*
 * The invariant checker (check=on): after each operation on an address space, tree, hash table, TLB and accounts agree.
 *
 * What an operation touched is checked after it; everything, after exec, exit and a change of policy, and after each
 * CHECK_SWEEP_EVERY-th operation.
 */
#ifndef CHECK_H
#define CHECK_H

#include <arch.h>
#include <lib.h>

struct mm;
struct text;

#define CHECK_SWEEP_EVERY 64u

/* Who is told of a contradiction: the address space by a number of its context, where, and the entry. */
typedef void check_bad(const char *what, u32 space, vaddr_t address, u32 pte);

/* Panics with the operation's name and the first contradictions: in [start, end) of mm, or anywhere. */
void check_run(struct mm *mm, uaddr_t start, uaddr_t end, const char *operation);
void check_sweep(const char *operation);
extern u64 check_runs, check_sweeps;

static inline void check_range(struct mm *mm, uaddr_t start, uaddr_t end, const char *operation)
{
	if (unlikely(boot.check))
		check_run(mm, start, end, operation);
}

static inline void check_everything(const char *operation)
{
	if (unlikely(boot.check))
		check_sweep(operation);
}

/* Boot: room for what a sweep counts. */
void check_init(void);

/* /proc/check: shows what was checked. Written "<fault> <address>", it makes a fault for the checker to find (inject.c). */
void check_show(struct text *text);
int check_store(const char *words, size_t size);

#endif
