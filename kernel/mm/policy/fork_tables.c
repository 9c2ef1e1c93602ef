/*
 * fork.tables: what a child gets of its parent's page tables (beyond the 1999 paper).
 *
 * copy: tables of its own, entry by entry, each of which counts its frame once more. share: the parent's own tables,
 * read-only, until one of the two changes an entry of it. Not shared: tables of the stack and of the program's data,
 * which both write to at once, so that sharing would only put the copying off; tables with areas that the child does
 * not get; any table while the tree holds notes (hpte.slot=noted), which are about one address space.
 */
#include <mm.h>
#include <pagetable.h>
#include <policy.h>

static bool shares(struct mm *parent, u32 base)
{
	uaddr_t end = base + TABLE_SPAN;

	if (pagetable_notes || (parent->data_start < end && parent->data_end > base))
		return false;
	for (struct vma *vma = mm_find(parent, base); vma && vma->start < end; vma = mm_next(vma))
		if (vma->flags & (VM_STACK | VM_DONTFORK | VM_WIPEONFORK))
			return false;
	return true;
}

static int fork_tables_apply(const struct policy_setting *to)
{
	fork_shares = to->choice ? shares : NULL;
	return 0;
}

POLICY(fork_tables, "fork.tables", CHOICES("copy", "share"), POLICY_ANY, fork_tables_apply, "tables_shared",
       &tables_shared);
