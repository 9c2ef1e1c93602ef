/* Contexts: the TLB has no number of an address space. It caches the active address space and the kernel. */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H
#include <types.h>

#define CONTEXT_NUMBERS 1u
#define CONTEXTS_LEAST  1u

struct local_table;

/* Contexts have no numbers: the structure's address tells them apart. */
struct mm_context {
	struct local_table *segments;   /* what modify_ldt has made; NULL: nothing */
};

/* Whether its address space's root is in CR3. With several processors always true: another processor may have it. */
bool mm_context_live(const struct mm_context *context);
/* For messages. */
static inline u32 mm_context_id(const struct mm_context *context) { return (u32)context; }

/* ldt.c: for fork, and when an address space ends. 0 or -ENOMEM. */
int mm_context_copy(struct mm_context *to, const struct mm_context *from);
void mm_context_end(struct mm_context *context);

#endif
