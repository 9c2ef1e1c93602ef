/*
 * idle.clear: whether the idle task clears frames ahead of use.
 *
 * off: it does not; a frame is cleared when it is allocated. cached: it clears free frames through the cache and lists
 * them. uncached-unlisted: it clears them past the cache and does not list them, which shows how much the clearing
 * alone costs other tasks. uncached: past the cache, and listed; an allocation of a zeroed frame takes one from the
 * list.
 */
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <frame.h>
#include <lib.h>
#include <policy.h>
#include <sched.h>

#include "../internal.h"

#define FREE_LEAST 64u          /* frames that the allocator keeps */
#define PIECE 512u              /* bytes that one call clears */

u32 idle_clear_most = IDLE_CLEAR_MOST;
static u64 frames_cleared;      /* frames that the idle task has cleared */

static struct {
	vaddr_t base;           /* the mapping used to clear: KERNEL_BASE or KERNEL_UNCACHED */
	bool listed;
} clear_form;

/* arch_lines_clear() needs a cache that takes new lines: without it, plain stores clear the piece. */
NOINLINE CAUSE(clear) static void clear_piece(void)
{
	struct cpu *cpu = this_cpu();
	vaddr_t start = clear_form.base + frame_pa(cpu->clearing) + cpu->clearing_offset, end = start + PIECE;

	if (clear_form.base == KERNEL_BASE && !idle_caches_locked)
		arch_lines_clear(start, end, arch_cpu.dcache_line);
	else
		for (u32 *word = (u32 *)start; word < (u32 *)end; word += 4)
			word[0] = word[1] = word[2] = word[3] = 0;
	cpu->clearing_offset += PIECE;
}

static bool idle_clear_work(void)
{
	struct cpu *cpu = this_cpu();

	if (!cpu->clearing) {
		if (cpu->cleared_count >= idle_clear_most || frames_free() < FREE_LEAST + cpu->cleared_count)
			return false;
		cpu->clearing = frame_set_aside();
		if (!cpu->clearing)
			return false;
		cpu->clearing_offset = 0;
		/* Flush lines that are still cached, or they would be written back over the zeros. */
		if (clear_form.base == KERNEL_UNCACHED)
			arch_dcache_flush(frame_kva(cpu->clearing), PAGE_SIZE);
		return true;
	}
	clear_piece();
	if (cpu->clearing_offset < PAGE_SIZE)
		return true;
	frames_cleared++;
	if (clear_form.listed)
		frame_list_cleared(cpu->clearing);
	else
		frame_return(cpu->clearing);
	cpu->clearing = NULL;
	return true;
}

static int idle_clear_apply(const struct policy_setting *to)
{
	static struct idle_hook hook = { .work = idle_clear_work };
	static bool hooked;
	bool past_cache = to->choice >= 2;

	if (past_cache && !arch_maps_uncached())
		return -ENODEV;
	if (hooked)
		idle_hook_remove(&hook);
	if (this_cpu()->clearing)
		frame_return(this_cpu()->clearing);
	this_cpu()->clearing = NULL;
	frames_return_cleared();
	hooked = to->choice != 0;
	clear_form.base = past_cache ? KERNEL_UNCACHED : KERNEL_BASE;
	clear_form.listed = to->choice != 2;
	frame_alloc_zeroed = hooked && clear_form.listed ? frame_alloc_cleared : frame_alloc_zeroed_now;
	if (hooked)
		idle_hook_add(&hook);
	return 0;
}

POLICY(idle_clear, "idle.clear", CHOICES("off", "cached", "uncached-unlisted", "uncached"), POLICY_ANY,
       idle_clear_apply, "cleared", &frames_cleared);
