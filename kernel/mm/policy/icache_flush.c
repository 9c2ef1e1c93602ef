/*
 * icache.flush: how often a page that programs may run is made ready for instruction fetch, which does not see what the
 * data cache holds (Mackerras 2003, section 2).
 *
 * mapping: each time it is mapped, all of its lines are written out and dropped from the instruction cache. once: not
 * again while nobody can have written to the file: the frame's note has the edition of the file that fetch sees.
 */
#include <arch.h>
#include <fs.h>
#include <lib.h>
#include <mm.h>
#include <policy.h>

static u64 spared;

static void at_mapping(const struct vma *vma, struct frame *frame)
{
	(void)vma;
	arch_icache_sync(frame_kva(frame), PAGE_SIZE);
}

CAUSE(fault) static void once(const struct vma *vma, struct frame *frame)
{
	bool settled = vma->file && frame->use == FRAME_CACHE && !vma->inode->writers &&
		       vma->inode->edition < EDITIONS_MOST;

	if (settled && frame->private == vma->inode->edition) {
		spared++;
		return;
	}
	arch_icache_sync(frame_kva(frame), PAGE_SIZE);
	if (settled)
		frame->private = vma->inode->edition;
}

static int icache_flush_apply(const struct policy_setting *to)
{
	fetch_ready = to->choice ? once : at_mapping;
	return 0;
}

POLICY(icache_flush, "icache.flush", CHOICES("mapping", "once"), POLICY_ANY, icache_flush_apply, "flushes_spared",
       &spared);
