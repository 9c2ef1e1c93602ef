#include <arch.h>
#include <arch/image.h>
#include <lib.h>

#define VECTORS_END 0x3000u

static const struct image *installed[VECTORS_END / 0x100];

#define BRANCH        0x48000000u
#define BRANCH_OFFSET 0x03fffffcu

static u32 words(const struct image *image)
{
	return (u32)(image->end - image->start);
}

void code_write(u32 *to, const u32 *from, u32 count)
{
	u32 msr = irq_save();

	image_copy(kva_pa(to), kva_pa(from), count * (u32)sizeof(*to));
	irq_restore(msr);
}

void code_divert(u32 *at, const u32 *to, u32 plain)
{
	u32 instruction = to ? BRANCH | (((u32)to - (u32)at) & BRANCH_OFFSET) : plain;

	code_write(at, &instruction, 1);
}

static void install(u32 vector, const u32 *code, const struct image *image, u32 count)
{
	ASSERT(vector % 0x100 == 0 && vector < VECTORS_END && count * sizeof(*code) <= 0x100);
	code_write(pa_kva(vector), code, count);
	installed[vector / 0x100] = image;
}

void image_install(u32 vector, const struct image *image)
{
	install(vector, image->start, image, words(image));
}

void image_install_before(u32 vector, const struct image *front, const struct image *image)
{
	u32 code[0x100 / sizeof(u32)], count = words(front);

	memcpy(code, front->start, count * sizeof(*code));
	code[count - 1] |= kva_pa(image->start);
	install(vector, code, image, count);
}

const struct image *image_at(u32 vector)
{
	return vector < VECTORS_END ? installed[vector / 0x100] : NULL;
}
