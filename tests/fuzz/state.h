/* A worker's state, and the random values that it draws. */
#ifndef PAGEWALK_FUZZ_STATE_H
#define PAGEWALK_FUZZ_STATE_H

#include "fuzz.h"

#define PAGE 4096u
#define SCRATCH_PAGES 16u
#define SCRATCH_SIZE (SCRATCH_PAGES * PAGE)
#define WINDOW_PAGES 16u

struct state {
	struct sequence random;
	uint8_t *scratch;	/* a readable and writable page, then a read-only page, then an unmapped one */
	uint8_t *locked;	/* a page without any access rights */
	uint32_t device;	/* address where /dev/pagewalk is mapped, unless a call unmapped it */
	uint32_t window;	/* pages where anything may be mapped */
	uint32_t last;		/* the last address drawn */
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

/* Makes one attack, a sequence of calls; returns its name. Calls `announce` first. */
void attack(struct state *s, void (*announce)(const char *name, int trace), int trace);

#endif
