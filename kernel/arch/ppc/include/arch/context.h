/* An address space's context: a number, from which VSIDs (vsid.h) or an MPC8xx's ASID are made. */
#ifndef ARCH_CONTEXT_H
#define ARCH_CONTEXT_H
#include <types.h>

#define CONTEXT_NUMBERS (1u << 20)      /* 24-bit VSIDs, 16 segments */
#define CONTEXT_KERNEL  0u
#define CONTEXTS_LEAST  4u              /* one for the kernel, two that are used at once, and one more */

struct mm_context {
	u32 number;
	u32 generation;                 /* 0: none yet */
	u32 segment_base;               /* the VSID of segment 0 */
};

extern u32 context_current;             /* the current generation of numbers */
static inline bool mm_context_live(const struct mm_context *context) { return context->generation == context_current; }
/* The context's number, for messages. */
static inline u32 mm_context_id(const struct mm_context *context) { return context->number; }

/* The architecture keeps nothing else for an address space. */
static inline int mm_context_copy(struct mm_context *to, const struct mm_context *from)
{
	(void)to;
	(void)from;
	return 0;
}
static inline void mm_context_end(struct mm_context *context) { (void)context; }

#endif
