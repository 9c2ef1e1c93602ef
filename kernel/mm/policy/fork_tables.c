/*
 * fork.tables: how fork gives the child its page tables (not in the 1999 paper).
 *
 * copy: the child gets tables of its own. Each entry is copied and its frame's count raised. share: the child uses the
 * parent's tables, read-only, until one of the two changes an entry. Not shared are the tables of the stack and of the
 * program's data, which both write to at once, so that sharing would only delay the copy; tables with areas that the
 * child does not get; and all tables while entries hold the backend's notes (pagetable_notes), each of which belongs to
 * one address space.
 * Forms: mm/shared_tables.c, genarch/pagetable.c.
 */
#include <mm.h>
#include <pagetable.h>
#include <policy.h>

static bool fork_may_share_table(struct mm *parent, uaddr_t base)
{
	uaddr_t end = base + TABLE_SPAN;

	if (pagetable_notes || (parent->program.data_start < end && parent->program.data_end > base))
		return false;
	for (struct vma *vma = mm_find(parent, base); vma && vma->start < end; vma = mm_next(vma))
		if (vma->flags & (VM_STACK | VM_DONTFORK | VM_WIPEONFORK))
			return false;
	return true;
}

static int fork_tables_apply(const struct policy_setting *to)
{
	fork_shares = to->choice ? fork_may_share_table : NULL;
	return 0;
}

POLICY(fork_tables, "fork.tables", CHOICES("copy", "share"), POLICY_ANY, fork_tables_apply, "table_shares",
       &table_shares);
