/*
 * Pages of the kernel through which it passes data: the buffers of pipes, and the page by which execve copies
 * arguments. Policy kernel.buffers decides at which addresses the kernel reaches them.
 */
#ifndef KERNEL_BUFFER_H
#define KERNEL_BUFFER_H
#include <flush.h>
#include <types.h>

struct frame;

#define BUFFER_PAGES 16u        /* of one buffer */

struct kernel_buffers {
	/*
	 * Returns the address of a buffer's page number `page`, whose content is in `frame`. *place is the buffer's
	 * address, 0 before its first page.
	 */
	char *(*map)(vaddr_t *place, u32 page, struct frame *frame);
	/* Ends the mapping of all pages. When it returns, no processor has a translation of them. Frames are kept. */
	void (*unmap)(vaddr_t *place, enum shootdown_reason why);
};
extern const struct kernel_buffers *kernel_buffers;     /* bound by policy kernel.buffers */

/* /proc/mmu/kernel_buffers. */
struct text;
void kernel_buffers_show(struct text *text);

/* The address of a buffer's page in the mapping of all RAM. */
char *buffer_linear(char *address);

#endif
