/* Contexts: this architecture has none, as an i386. The TLB caches only the active address space. */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H
#include <types.h>

#define CONTEXT_NUMBERS 1u
#define CONTEXTS_LEAST  1u

struct mm_context {
	bool active;
};

static inline bool mm_context_live(const struct mm_context *context) { return context->active; }
static inline u32 mm_context_id(const struct mm_context *context) { return context->active; }

/* The architecture keeps nothing else for an address space. */
static inline int mm_context_copy(struct mm_context *to, const struct mm_context *from)
{
	(void)to;
	(void)from;
	return 0;
}
static inline void mm_context_end(struct mm_context *context) { (void)context; }

#endif
