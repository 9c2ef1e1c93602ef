/* The files of /proc about frames, flushes, policies and the checker. */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <flush.h>
#include <frame.h>
#include <kernel_buffer.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <policy.h>
#include <procfs.h>
#include <text.h>

/*
 * The ranges that were flushed, page by page or by a new context: their number, their pages, the largest, and how many
 * there were of each size ("pages_40 3"). The last size, FLUSH_SIZES - 1, includes all larger ones.
 */
static void show_flushes(struct text *text)
{
	u32 ranges = 0, pages = 0, largest = 0;

	for (u32 size = 0; size < FLUSH_SIZES; size++)
		if (flush_sizes[size]) {
			ranges += flush_sizes[size];
			pages += flush_sizes[size] * size;
			largest = size;
		}
	text_printf(text, "ranges %u\npages %u\nlargest %u\n", ranges, pages, largest);
	for (u32 size = 0; size < FLUSH_SIZES; size++)
		if (flush_sizes[size])
			text_printf(text, "pages_%u %u\n", size, flush_sizes[size]);
}

/* Any write resets the counts. */
static int reset_flushes(const char *words, size_t size)
{
	(void)words;
	(void)size;
	memset(flush_sizes, 0, sizeof(flush_sizes));
	return 0;
}

static void show_frames(struct text *text)
{
	static const char *const names[FRAME_USES] =
		{ "free", "reserved", "kernel", "page_table", "anonymous", "cache", "dirty" };
	struct frame_statistics s;

	frame_statistics(&s);
	text_printf(text, "total %u\n", s.total);
	for (unsigned i = 0; i < FRAME_USES; i++)
		text_printf(text, "%s %u\n", names[i], s.use[i]);
	text_printf(text, "allocations %llu\nfrees %llu\nfailures %llu\nkmalloc_bytes %u\nkmalloc_objects %u\n",
		    s.allocations, s.frees, s.failures, (u32)kmalloc_bytes(), kmalloc_objects());
	text_printf(text, "tables_shared %u\nfailalloc_seen %llu\n", tables_shared, failalloc_count);
}

static void show_failalloc(struct text *text)
{
	text_printf(text, "seen %llu\nbefore %llu\n", failalloc_count, failalloc_before);
}

static int store_failalloc(const char *words, size_t size)
{
	char number[12];
	u32 n;

	while (size && words[size - 1] == '\n')
		size--;
	if (size >= sizeof(number))
		return -EINVAL;
	memcpy(number, words, size);
	number[size] = '\0';
	if (parse_u32(number, &n))
		return -EINVAL;
	failalloc_set(n);
	return 0;
}

void mm_proc_init(void)
{
	proc_file("policy", policy_show, policy_store);
	proc_file("frames", show_frames, NULL);
	proc_file("check", check_show, check_store);
	proc_file("failalloc", show_failalloc, store_failalloc);
	proc_file("mmu/flushes", show_flushes, reset_flushes);
	proc_file("mmu/kernel_buffers", kernel_buffers_show, NULL);
	shootdown_proc_init();
	arch_proc_init();
}
