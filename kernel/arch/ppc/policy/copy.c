/*
 * copy: how blocks are copied to and from programs, and pages to their copies (Mackerras 2003, section 3).
 *
 * words: four words at a time. lines: long blocks by cache lines: dcbz creates each destination line without reading
 * memory, and the next source line is prefetched. ahead: the same, but the source line after the next one is
 * prefetched, which gains where several lines can be on their way (604), and loses where only one can (603).
 * user_copy() begins with a branch to the chosen form. An MPC8xx has a form for its lines of 16 bytes, and no `ahead`.
 * It needs DAR to hold dcbz's address after a fault, which is so on this machine. doubleword: on a 970, every block by
 * its registers of 64 bits, without a cache instruction, also those within the kernel (hash64/copy.S). doubleword6: the
 * same, but whole pages by six lines together. `lines` and `ahead` have no form for its lines of 128 bytes.
 * Forms: arch/ppc/copy.S, hash64/copy.S, copy_count.c.
 */
#include <arch.h>
#include <arch/copy.h>
#include <arch/mmu.h>
#include <errno.h>
#include <frame.h>
#include <lib.h>
#include <policy.h>

u64 long_copies;                /* of 512 bytes or more, by another form than words */

static u32 (*lines_form)(void *to, const void *from, u32 n);

static void *page_by_lines(void *to, const void *from, size_t n)
{
	lines_form(to, from, n);
	return to;
}

static int copy_apply(const struct policy_setting *to)
{
	enum { WORDS, LINES, AHEAD, DOUBLEWORD, DOUBLEWORD6 };

	if (to->choice == WORDS) {
		copy_bind(user_copy_plainly, memcpy_plainly);
		frame_copy_block = memcpy;
		return 0;
	}
	if (to->choice >= DOUBLEWORD) {
		if (!backend->wide)
			return -ENODEV;
		copy_bind(to->choice == DOUBLEWORD ? user_copy64 : user_copy64_six,
			  to->choice == DOUBLEWORD ? memcpy64 : memcpy64_six);
		frame_copy_block = memcpy;
		return 0;
	}
	if (arch_cpu.dcache_line == 32)
		lines_form = to->choice == LINES ? copy_by_lines : copy_by_lines_ahead;
	else if (arch_cpu.dcache_line == 16 && to->choice == LINES)
		lines_form = copy_by_short_lines;
	else
		return -ENODEV;
	copy_bind(lines_form, memcpy_plainly);
	frame_copy_block = page_by_lines;
	return 0;
}

POLICY(copy, "copy", CHOICES("words", "lines", "ahead", "doubleword", "doubleword6"), POLICY_ANY, copy_apply,
       "long_copies", &long_copies);
