/* Copying to and from any address space, and making written instructions visible to fetch. */
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <uaccess.h>

/* Copies between kernel memory and any address space, through the kernel's mapping of its frames. */
static int mm_copy(struct mm *mm, uaddr_t address, void *kernel, size_t n, bool to_mm)
{
	while (n) {
		u32 offset = address % PAGE_SIZE;
		u32 part = MIN((u32)n, PAGE_SIZE - offset);
		struct frame *frame;

		if (mm_frame(mm, address, to_mm ? MM_WRITE : MM_READ, &frame))
			return -EFAULT;
		if (to_mm) {
			memcpy((u8 *)frame_kva(frame) + offset, kernel, part);
			arch_icache_sync((u8 *)frame_kva(frame) + offset, part);
		} else {
			memcpy(kernel, (u8 *)frame_kva(frame) + offset, part);
		}
		frame_put(frame);
		address += part;
		kernel = (u8 *)kernel + part;
		n -= part;
	}
	return 0;
}

int mm_copy_to(struct mm *mm, uaddr_t address, const void *from, size_t n)
{
	return mm_copy(mm, address, (void *)from, n, true);
}

int mm_copy_from(struct mm *mm, void *to, uaddr_t address, size_t n)
{
	return mm_copy(mm, address, to, n, false);
}
