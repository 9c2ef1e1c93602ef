#include <arch.h>
#include <arch/image.h>
#include <lib.h>

#define VECTORS_END 0x3000u

/* image_copy.S */
void image_copy(u32 to, u32 from, u32 size);

static const struct image *installed[VECTORS_END / 0x100];

void image_install(u32 vector, const struct image *image)
{
	size_t size = (size_t)((const char *)image->end - (const char *)image->start);
	u32 msr = irq_save();

	ASSERT(vector % 0x100 == 0 && vector < VECTORS_END && size <= 0x100);
	image_copy(vector, kva_pa(image->start), size);
	installed[vector / 0x100] = image;
	irq_restore(msr);
}

const struct image *image_at(u32 vector)
{
	return vector < VECTORS_END ? installed[vector / 0x100] : NULL;
}
