/* Contexts: the TLB has no number of an address space. What it holds is the active address space's, or the kernel's. */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H

#include <types.h>

#define CONTEXT_NUMBERS 1u
#define CONTEXTS_LEAST  1u

struct mm_context {
	char none[1];           /* its address stands for it */
};

/* Whether it is of the address space whose root is in CR3; with several processors, true: it may be another one's. */
bool mm_context_live(const struct mm_context *context);
/* For messages. */
static inline u32 mm_context_id(const struct mm_context *context) { return (u32)context; }

#endif
