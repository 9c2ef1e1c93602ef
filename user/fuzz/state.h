/* What a worker of the fuzzer has, and the random values that it takes. */
#ifndef PAGEWALK_FUZZ_STATE_H
#define PAGEWALK_FUZZ_STATE_H

#include "fuzz.h"

#define PAGE 4096u
#define SCRATCH_PAGES 16u
#define SCRATCH_SIZE (SCRATCH_PAGES * PAGE)
#define WINDOW_PAGES 16u

struct state {
	struct sequence random;
	uint8_t *scratch;	/* readable and writable, then a page that is only readable, then none */
	uint8_t *locked;	/* a page without any right */
	uint32_t device;	/* where /dev/pagewalk is mapped, unless a call took it away */
	uint32_t window;	/* pages to map anything over */
	uint32_t last;		/* the last address */
	const struct progress *all;
	unsigned workers;
	int privileged;
};

#define PICK(s, list) ((list)[below(&(s)->random, sizeof(list) / sizeof((list)[0]))])

uint32_t number(struct state *s);
uint32_t descriptor(struct state *s);
uint32_t flag_bits(struct state *s);
uint32_t address(struct state *s);
uint32_t size(struct state *s);
uint32_t content(struct state *s);
uint32_t path(struct state *s);
uint32_t argument(struct state *s, enum fuzz_kind kind);
void put(struct state *s, uint32_t at, uint32_t value);

/* Maps the control device's page for programs, if there is one. */
void map_device(struct state *s);

/* Makes one of the attacks, which are sequences of calls; returns its name. `announce` is called before. */
void attack(struct state *s, void (*announce)(const char *name, int trace), int trace);

#endif
