/* Copies code images to the vectors, and keeps which vectors are in use (arch/image.h). */
#include <arch.h>
#include <arch/image.h>
#include <lib.h>
#include <smp.h>

#define VECTORS_END 0x3000u
#define VECTORS_MOST 32u

/* The vectors in use, in the order of their first installation. Any distance between two of them is allowed. */
static struct {
	u32 vector;
	u32 size;               /* bytes of its code */
} taken_vectors[VECTORS_MOST];
static u32 taken_count;

#define BRANCH        0x48000000u
#define BRANCH_OFFSET 0x03fffffcu

static u32 image_words(const struct image *image)
{
	return (u32)(image->end - image->start);
}

void code_write(u32 *to, const u32 *from, u32 count)
{
	u32 msr = irq_save();

	cpus_hold();
	image_copy(kva_pa(to), kva_pa(from), count * (u32)sizeof(*to));
	cpus_release();
	irq_restore(msr);
}

void code_divert(u32 *at, const u32 *to, u32 plain)
{
	u32 instruction = to ? BRANCH | (((u32)to - (u32)at) & BRANCH_OFFSET) : plain;

	code_write(at, &instruction, 1);
}

void arch_replace(const void *function, const void *by)
{
	replacement_note(function, by);
	code_divert((u32 *)function, by, 0);
}

/* Notes that [vector, vector + size) is taken; it must not overlap another vector's code. */
static void vector_take(u32 vector, u32 size)
{
	u32 at = taken_count;

	for (u32 i = 0; i < taken_count; i++) {
		if (taken_vectors[i].vector == vector)
			at = i;
		else
			ASSERT(vector + size <= taken_vectors[i].vector ||
			       taken_vectors[i].vector + taken_vectors[i].size <= vector);
	}
	ASSERT(at < VECTORS_MOST && vector % sizeof(u32) == 0 && vector + size <= VECTORS_END);
	taken_vectors[at].vector = vector;
	taken_vectors[at].size = size;
	if (at == taken_count)
		taken_count++;
}

static void vector_install(u32 vector, const u32 *code, u32 count)
{
	vector_take(vector, count * sizeof(*code));
	code_write(pa_kva(vector), code, count);
}

void image_install(u32 vector, const struct image *image)
{
	vector_install(vector, image->start, image_words(image));
}

void image_install_before(u32 vector, const struct image *front, const struct image *image)
{
	u32 code[IMAGE_MOST / sizeof(u32)], count = image_words(front);

	ASSERT(count <= ARRAY_SIZE(code));
	memcpy(code, front->start, count * sizeof(*code));
	code[count - 1] |= kva_pa(image->start);
	vector_install(vector, code, count);
}
