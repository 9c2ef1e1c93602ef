/*
 * unmap.flush: how often unmapping flushes the cached translations of a shared file mapping.
 *
 * twice: when the file's changed pages are noted, and when the entries go, as Linux 2.1.79 did (mm/filemap.c,
 * filemap_sync; mm/mmap.c, do_munmap). once: only the latter, by policy pte.update.
 */
#include <flush.h>
#include <policy.h>

#include "../internal.h"

static u64 flushes_repeated;    /* ranges flushed a second time */
static bool flush_doubled;

void (*zap_range)(struct vma *vma, uaddr_t start, uaddr_t end);
static void (*zap_once)(struct vma *vma, uaddr_t start, uaddr_t end);

static void flush_shared_file(struct vma *vma, uaddr_t start, uaddr_t end)
{
	if (vma->inode && vma->flags & VM_SHARED) {
		flush->range(vma->mm, start, end);
		flushes_repeated++;
	}
}

static void zap_flushed(struct vma *vma, uaddr_t start, uaddr_t end)
{
	flush_shared_file(vma, start, end);
	zap_once(vma, start, end);
}

bool zap_flush_whole(struct vma *vma, uaddr_t start, uaddr_t end)
{
	if (!flush_range_whole(vma->mm, start, end))
		return false;
	if (flush_doubled)
		flush_shared_file(vma, start, end);
	return true;
}

void zap_bind(void (*form)(struct vma *vma, uaddr_t start, uaddr_t end))
{
	zap_once = form;
	zap_range = flush_doubled ? zap_flushed : form;
}

static int unmap_flush_apply(const struct policy_setting *to)
{
	flush_doubled = to->choice == 0;
	zap_bind(zap_once);
	return 0;
}

POLICY_BUT(unmap_flush, "unmap.flush", CHOICES("twice", "once"), 1, POLICY_ANY, unmap_flush_apply, "repeated",
	   &flushes_repeated);
