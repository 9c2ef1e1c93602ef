/*
 * icache.flush: when a page that programs may execute is made visible to instruction fetch, which does not see the
 * contents of the data cache (Mackerras 2003, section 2).
 *
 * That is, its lines are written back, and invalidated in the instruction cache. every: whatever page a fault has made
 * accessible, also one that is anonymous, a copy, or data, as Linux/PPC 2.0.4 did (arch/ppc/mm/fault.c, do_page_fault).
 * twice: a page of a file twice, as Linux/PPC from 2.3.15 to 2.4.18: when it is found in the file (mm/filemap.c,
 * filemap_nopage) and when it is mapped (mm/memory.c, do_no_page); a new anonymous page and a copy once
 * (do_anonymous_page, do_wp_page); the frame of zeroes, and a page that is only made writable, never. Linux flushed a
 * page of a file that it copies at the first access, because the program writes to it, once more than is done here.
 * page: the same pages, but each only once: an anonymous one when it is new, one of a file unless the file can have
 * changed since the last time. So did Linux from 2.4.19 on (arch/ppc/mm/init.c, flush_icache_page with PG_arch_1,
 * clear_user_page and copy_user_page), which cannot tell pages that are executed from others. mapping: an executable
 * page, each time it is mapped. once: an executable page, and only once. exec: a page from which a program
 * fetches, when it first does: the permission to fetch is withheld until then (Mackerras 2003, section 2.3). That needs
 * a TLB with such a permission, as a 405 has it, or one of fetches alone that software loads, whose handler can refuse
 * (603, 8xx). The frame's note is the edition of the file for which it was done; an anonymous frame's is NOTED.
 */
#include <arch.h>
#include <frame.h>
#include <fs.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <policy.h>

#include "../internal.h"

#define NOTED 1u

/* By choice: flushes (twice, every, page), flushes that mapping would do and once does not, permissions (exec). */
static u64 flushes_changed;
static void (*insert_plainly)(struct mm *mm, vaddr_t address, pte_t pte);
static void (*insert_ready)(struct mm *mm, vaddr_t address, pte_t pte);         /* NULL: plainly */
static void (*first_told)(struct mm *mm, vaddr_t address);                      /* NULL: nobody is told */
u32 fetch_asks_others;

void (*page_installed)(struct mm *mm, vaddr_t address, pte_t pte);
void (*page_copied)(struct mm *mm, vaddr_t address, pte_t pte);
void (*page_made_writable)(struct mm *mm, vaddr_t address, pte_t pte);

CAUSE(fault) static void flushed_and_inserted(struct mm *mm, vaddr_t address, pte_t pte)
{
	struct frame *frame = pte_frame(pte);

	if (frame) {
		arch_icache_sync(frame_kva(frame), PAGE_SIZE);
		flushes_changed++;
	}
	insert_plainly(mm, address, pte);
}

CAUSE(fault) static void flushed_twice_and_inserted(struct mm *mm, vaddr_t address, pte_t pte)
{
	struct frame *frame = pte_frame(pte);

	if (frame == zero_frame) {
		insert_plainly(mm, address, pte);
		return;
	}
	if (frame && frame_of_file(frame)) {
		arch_icache_sync(frame_kva(frame), PAGE_SIZE);
		flushes_changed++;
	}
	flushed_and_inserted(mm, address, pte);
}

/* The note of a frame that need not be flushed again; 0: it has none, because its file may change unseen. */
CAUSE(fault) static u16 note_of(const struct vma *vma, const struct frame *frame)
{
	if (frame->use == FRAME_ANONYMOUS)
		return NOTED;
	if (frame_of_file(frame) && vma->file && !vma->inode->writers && vma->inode->edition < EDITIONS_MOST)
		return vma->inode->edition;
	return 0;
}

/* The zeroed frame that all share holds no program's code. */
CAUSE(fault) static void noted_and_inserted(struct mm *mm, vaddr_t address, pte_t pte)
{
	struct frame *frame = pte_frame(pte);

	if (frame && frame != zero_frame) {
		const struct vma *vma = area_last(mm, address);
		u16 note = note_of(vma ? vma : mm_find(mm, address), frame);

		if (!note || frame->private != note) {
			arch_icache_sync(frame_kva(frame), PAGE_SIZE);
			frame->private = note;
			flushes_changed++;
		}
	}
	insert_plainly(mm, address, pte);
}

CAUSE(fault) static void inserted_and_told(struct mm *mm, vaddr_t address, pte_t pte)
{
	page_copied(mm, address, pte);
	first_told(mm, address);
}

void page_installed_bind(void (*to)(struct mm *mm, vaddr_t address, pte_t pte))
{
	insert_plainly = to;
	page_copied = insert_ready ? insert_ready : insert_plainly;
	page_made_writable = insert_ready == flushed_twice_and_inserted ? insert_plainly : page_copied;
	page_installed = first_told ? inserted_and_told : page_copied;
}

void page_installed_tell(void (*whom)(struct mm *mm, vaddr_t address))
{
	first_told = whom;
	if (insert_plainly)
		page_installed_bind(insert_plainly);
}

/* With twice, every and page, the page is flushed when its entry is in the tree; with exec, at its first fetch. */
static void flushed_when_entered(const struct vma *vma, struct frame *frame)
{
	(void)vma;
	(void)frame;
}

static void at_mapping(const struct vma *vma, struct frame *frame)
{
	(void)vma;
	arch_icache_sync(frame_kva(frame), PAGE_SIZE);
}

CAUSE(fault) static void flush_once(const struct vma *vma, struct frame *frame)
{
	u16 note = frame_of_file(frame) ? note_of(vma, frame) : 0;

	if (note && frame->private == note) {
		flushes_changed++;
		return;
	}
	arch_icache_sync(frame_kva(frame), PAGE_SIZE);
	if (note)
		frame->private = note;
}

CAUSE(fault) bool fetch_permit(struct mm *mm, uaddr_t address)
{
	const struct vma *vma = mm_find(mm, address);
	/* First mm gets its own table: another space that shares it may have cached the entry as it was. */
	struct pte *entry = vma && vma->start <= address ? pagetable_make(mm, address) : NULL;
	pte_t pte = entry ? pte_get(entry) : PTE_NONE;
	struct frame *frame = pte_present(pte) ? pte_frame(pte) : NULL;

	if (!frame || !pte_user(pte) || pte_fetchable(pte))
		return false;
	flush_once(vma, frame);
	pagetable_set(entry, pte_make_fetchable(pte));
	mmu->page_flush(mm, address & PAGE_MASK);
	flushes_changed++;
	return true;
}

/* Flushes all pages: those that were not fetched from while the permission was withheld can be fetched from now on. */
static void ready_all(void)
{
	for (u32 n = 0; n < frame_count; n++)
		if (frames[n].use == FRAME_ANONYMOUS || frame_of_file(&frames[n]))
			arch_icache_sync(frame_kva(&frames[n]), PAGE_SIZE);
}

static int icache_flush_apply(const struct policy_setting *to)
{
	static bool withheld;
	enum { TWICE, EVERY, PAGE, MAPPING, ONCE, EXEC };
	static void (*const forms[])(const struct vma *vma, struct frame *frame) = {
		[TWICE] = flushed_when_entered, [EVERY] = flushed_when_entered, [PAGE] = flushed_when_entered,
		[MAPPING] = at_mapping, [ONCE] = flush_once, [EXEC] = flushed_when_entered,
	};
	static void (*const inserting[])(struct mm *mm, vaddr_t address, pte_t pte) = {
		[TWICE] = flushed_twice_and_inserted, [EVERY] = flushed_and_inserted, [PAGE] = noted_and_inserted,
		[EXEC] = NULL,
	};
	int error = arch_fetch_withhold(to->choice == EXEC);

	if (error)
		return error;
	if (withheld && to->choice != EXEC)
		ready_all();
	withheld = to->choice == EXEC;
	fetch_ready = forms[to->choice];
	insert_ready = inserting[to->choice];
	fetch_asks_others = !SEVERAL || arch_tlb_broadcasts() ? 0 : insert_ready ? VM_PROT : VM_EXEC;
	if (insert_plainly)
		page_installed_bind(insert_plainly);
	return 0;
}

POLICY_BUT(icache_flush, "icache.flush", CHOICES("twice", "every", "page", "mapping", "once", "exec"), 3, POLICY_ANY,
	   icache_flush_apply, "flushes_changed", &flushes_changed);
