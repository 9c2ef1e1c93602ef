/*
 * The invariant checker (check=on) compares tree, hash table, TLB and accounts after each operation on an address
 * space.
 *
 * After an operation it checks the range that the operation changed. It checks everything after exec, exit and a
 * change of policy, and after CHECK_SWEEP_EVERY operations of each processor; after more where many pages are mapped
 * (test/check.c).
 */
#ifndef CHECK_H
#define CHECK_H
#include <arch.h>
#include <lib.h>

struct mm;
struct text;

#define CHECK_SWEEP_EVERY 256u

/* Reports a contradiction: the number of the address space's context, the address, and the entry. */
typedef void check_bad(const char *what, u32 space, vaddr_t address, vaddr_t entry);

/* Checks [start, end) of mm, its tree, or everything; panics with the operation's name and the first contradictions. */
void check_run(struct mm *mm, uaddr_t start, uaddr_t end, const char *operation);
void check_run_tree(struct mm *mm, const char *operation);
void check_sweep(const char *operation);
extern u64 check_runs, check_sweeps;
/* check=sleep: files have a medium that sleeps, and counts what is written to it (test/areas.c). */
void check_areas_sleep(void);
extern u64 check_slept, check_written, check_synced;

static inline void check_range(struct mm *mm, uaddr_t start, uaddr_t end, const char *operation)
{
	if (unlikely(boot.check))
		check_run(mm, start, end, operation);
}

/* After an operation that changed entries of the tree and removed none: checks each page that is present. */
static inline void check_tree(struct mm *mm, const char *operation)
{
	if (unlikely(boot.check))
		check_run_tree(mm, operation);
}

/* After pages of the kernel's own were unmapped: checks what each processor has cached of them. */
void check_run_kernel(vaddr_t start, vaddr_t end, const char *operation);
static inline void check_kernel(vaddr_t start, vaddr_t end, const char *operation)
{
	if (unlikely(boot.check))
		check_run_kernel(start, end, operation);
}

static inline void check_everything(const char *operation)
{
	if (unlikely(boot.check))
		check_sweep(operation);
}

/* At boot: allocates the counters of a check of everything. */
void check_init(void);

/*
 * /proc/check shows how much was checked. "<fault> <address>" written to it makes a fault for the checker to find
 * (inject.c).
 */
void check_show(struct text *text);
int check_store(const char *words, size_t size);

#endif
