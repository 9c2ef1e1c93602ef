/*
 * copy: how blocks are copied to and from programs, and pages to their copies (Mackerras 2003, section 3).
 *
 * words: four words at a time. lines: long blocks by cache lines: dcbz creates each destination line without reading
 * memory, and source lines are prefetched. A code image: user_copy branches to it.
 */
#include <arch.h>
#include <arch/copy.h>
#include <errno.h>
#include <frame.h>
#include <lib.h>
#include <policy.h>

u64 copies_by_lines;

static void *page_by_lines(void *to, const void *from, size_t n)
{
	copy_by_lines(to, from, n);
	return to;
}

static int copy_apply(const struct policy_setting *to)
{
	if (to->choice && arch_cpu.dcache_line != COPY_LINE)
		return -ENODEV;
	copy_bind_lines(to->choice);
	frame_copy_block = to->choice ? page_by_lines : memcpy;
	return 0;
}

POLICY(copy, "copy", CHOICES("words", "lines"), POLICY_ANY, copy_apply, "copies_by_lines", &copies_by_lines);
