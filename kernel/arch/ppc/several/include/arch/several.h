/* The seam between several processors of PowerPC and their MMU. */
#ifndef ARCH_SEVERAL_H
#define ARCH_SEVERAL_H
#include <types.h>

struct image;

/* What the backend of 604s and 750s does with several processors. */
struct ppc_several {
	/* At boot: binds the forms that lock what all share. */
	void (*bind)(void);
	/* On a processor that begins: loads the backend's registers. Segments and TLB come later. */
	void (*begin)(void);
	/*
	 * Flushes a page from the TLB of each processor, on a core that broadcasts tlbie: one processor may do so at a
	 * time.
	 */
	void (*tlb_flush_page)(vaddr_t address);
	/* On such a core: vector 0x500 with shootdown=short and lazy (several/external_flush.h). */
	const struct image *external_flush;
	/* A panic: lets the lock go that the reload handlers take, if this processor has it. */
	void (*leave_lock)(void);
};
extern const struct ppc_several hash32_several;

#endif
