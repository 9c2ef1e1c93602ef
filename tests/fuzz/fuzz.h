/* The system calls as the fuzzer sees them; the table is made from kernel/syscall/syscalls.tbl. */
#ifndef PAGEWALK_FUZZ_H
#define PAGEWALK_FUZZ_H

#include <stdint.h>

enum fuzz_kind {
	FUZZ_INT, FUZZ_UINT, FUZZ_S32, FUZZ_U32, FUZZ_SIZE, FUZZ_S64, FUZZ_U64, FUZZ_FD, FUZZ_PID, FUZZ_ID, FUZZ_MODE,
	FUZZ_SIGNAL, FUZZ_CLOCK, FUZZ_FLAGS, FUZZ_ADDRESS, FUZZ_PATH, FUZZ_POINTER,
};

struct fuzz_argument {
	uint8_t kind;
	uint8_t first;	/* number of the first argument register, from 0 */
	uint8_t registers;
};

struct fuzz_call {
	const char *name;
	uint16_t number;
	uint8_t full;	/* forks, executes, ends the process, or changes every register */
	uint8_t arguments;
	struct fuzz_argument argument[6];
};

extern const struct fuzz_call fuzz_calls[];
extern const unsigned fuzz_call_count;

/* A sequence of numbers that depends on the seed alone (SplitMix64: Steele, Lea, Flood, OOPSLA 2014). */
struct sequence {
	uint64_t state;
};

static inline uint32_t next(struct sequence *s)
{
	uint64_t z = s->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (uint32_t)(z >> 32);
}

static inline uint32_t below(struct sequence *s, uint32_t limit)
{
	return next(s) % limit;
}

/*
 * Memory that a worker shares with the driver. A call may overwrite it, so the driver limits the counts to what one
 * life can reach.
 */
struct progress {
	volatile uint32_t calls;	/* in this life; so are the errors */
	volatile uint32_t errors;
	volatile uint32_t digest;	/* digest of the calls and results in order */
	volatile uint32_t last;		/* number of the last call; 0 is an attack */
	volatile uint32_t root;		/* IS_ROOT: the worker became root by a call */
	volatile int32_t pid;
};

#define IS_ROOT 0x726f6f74u		/* a value that a call hardly writes by chance */

#define WORKERS_MOST 16
#define FOLDER "/tmp/fuzz"

/* Makes up to `most` calls, then ends the process. `trace`, if not negative, is a descriptor that gets a line for each
 * call. */
void worker(uint64_t seed, struct progress *mine, const struct progress *all, unsigned workers, unsigned most,
	    int trace)
	__attribute__((noreturn));

#endif
