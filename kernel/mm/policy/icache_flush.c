/*
 * icache.flush: when a page that programs may execute is made visible to instruction fetch, which does not see the
 * contents of the data cache (Mackerras 2003, section 2).
 *
 * mapping: each time it is mapped, all its lines are written back and invalidated in the instruction cache. once:
 * skipped if the file cannot have changed since. The frame's note is the edition of the file for which it was done.
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

CAUSE(fault) static void flush_once(const struct vma *vma, struct frame *frame)
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
	fetch_ready = to->choice ? flush_once : at_mapping;
	return 0;
}

POLICY(icache_flush, "icache.flush", CHOICES("mapping", "once"), POLICY_ANY, icache_flush_apply, "flushes_spared",
       &spared);
