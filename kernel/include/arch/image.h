/*
 * Code images: pieces of position-independent code, at most 256 bytes, that are copied to an exception vector.
 * They branch to the kernel's code by absolute physical address (ba), which works with translation off.
 */
#ifndef ARCH_IMAGE_H
#define ARCH_IMAGE_H

#include <types.h>

struct image {
	const char *name;
	const u32 *start, *end;
};

/* Copies the image to the vector at physical address `vector` and synchronises the instruction cache. */
void image_install(u32 vector, const struct image *image);
/* The image that is at a vector now; NULL: none. */
const struct image *image_at(u32 vector);

/* Declares the image that assembly made by `image name` ... `end_image name`. */
#define DECLARE_IMAGE(ident)                                                   \
	extern const u32 ident##_start[], ident##_end[];                       \
	static const struct image ident = { #ident, ident##_start, ident##_end }

#endif
