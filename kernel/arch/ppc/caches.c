/* The buffer by which cache_flush.S evicts what is in the data cache. */
#include <arch.h>
#include <arch/caches.h>
#include <arch/core.h>
#include <errno.h>
#include <frame.h>

#define BUFFER_ORDER 2u         /* 16 KB: the most lines that cache_flush.S takes */

void *cache_flush_buffer;

int caches_flush_prepare(void)
{
	struct frame *frame;

	if (!cpu_core->hid0_caches)
		return -ENODEV;
	if (cache_flush_buffer)
		return 0;
	frame = frame_alloc_order(FRAME_RESERVED, BUFFER_ORDER);
	if (!frame)
		return -ENOMEM;
	cache_flush_buffer = frame_kva(frame);
	return 0;
}
