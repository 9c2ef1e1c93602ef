/*
 * Code images: pieces of position-independent code that are copied to an exception vector. Each fits before the next
 * vector: usually 256 bytes (end_image in asm.h takes another size: a 405's timers are 16 bytes apart). They branch to
 * the kernel's code by absolute physical address (ba), which works with translation off.
 */
#ifndef ARCH_IMAGE_H
#define ARCH_IMAGE_H
#include <types.h>

#define IMAGE_MOST 256u

struct image {
	const char *name;
	const u32 *start, *end;
};

/* Copies the image to the vector at physical address `vector` and synchronises the instruction cache. */
void image_install(u32 vector, const struct image *image);
/* Installs `front`, whose last word, a `ba`, is set to branch to `image`, which runs at its link address. */
void image_install_before(u32 vector, const struct image *front, const struct image *image);

/* Changes instructions of the kernel with translation off, and makes them visible to fetch. */
void code_write(u32 *to, const u32 *from, u32 count);
/* Replaces the instruction at `at` by a branch to `to`, or (NULL) by `plain`, its original. */
void code_divert(u32 *at, const u32 *to, u32 plain);
/* The same by physical addresses, with interrupts off (image_copy.S). */
void image_copy(u32 to, u32 from, u32 size);

/* Declares the image that assembly defines by `image name` ... `end_image name`. */
#define DECLARE_IMAGE(ident)                                                   \
	extern const u32 ident##_start[], ident##_end[];                       \
	static const struct image ident = { #ident, ident##_start, ident##_end }

#endif
