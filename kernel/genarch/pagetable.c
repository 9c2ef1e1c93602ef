/* The page-table tree: making, finding and freeing its tables (pagetable.h). */
#include <arch.h>
#include <errno.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <window.h>

#define KERNEL_FIRST (KERNEL_BASE >> TOP_SHIFT & (PTE_PER_TABLE - 1))

struct root_entry *kernel_root;

vaddr_t pagetable_base = KERNEL_BASE;
u64 pagetables_uncached;
bool pagetable_notes;
bool pagetable_direct;
paddr_t pagetable_uncertain;

static void left_by_all(void)
{
}

void (*pagetable_left)(void) = left_by_all;

/* Flushes a new table from the cache, if tables are accessed past the cache. */
static void leave_cache(struct frame *frame)
{
	if (pagetable_base == KERNEL_BASE)
		return;
	arch_dcache_flush(frame_kva(frame), PAGE_SIZE);
	pagetables_uncached++;
}

struct frame *pagetable_table_new(void)
{
	struct frame *frame = frame_alloc_zeroed(FRAME_PAGE_TABLE);

	if (frame)
		leave_cache(frame);
	return frame;
}

NOINLINE static void kernel_table_new(struct root_entry *slot)
{
	struct frame *frame = pagetable_table_new();

	if (!slot || !frame)
		fatal(EXIT_MEMORY, "kernel's page tables: no memory");
	*slot = root_entry_make(frame_pa(frame), mmu->root_bits_kernel);
}

void pagetable_kernel_tables(vaddr_t start, vaddr_t end)
{
	for (; start < end; start += TABLE_SPAN)
		kernel_table_new(pagetable_slot_make(kernel_root, start));
}

static void map_kernel(vaddr_t virtual, pte_t pte)
{
	struct root_entry *slot = levels_make(kernel_root, virtual);

	if (!slot || slot_empty(slot))
		kernel_table_new(slot);
	pagetable_install(&slot_table(slot)[pagetable_index(virtual)], pte);
}

static void map_io(vaddr_t virtual, paddr_t pa)
{
	map_kernel(virtual, pte_make_kernel(pa, true));
}

void pagetable_init(void)
{
	struct frame *frame = pagetable_table_new();
	paddr_t pa;

	if (!frame)
		fatal(EXIT_MEMORY, "kernel's page tables: no memory");
	kernel_root = frame_kva(frame);
	for (pa = 0; pa < boot.memory_size; pa += PAGE_SIZE)
		map_kernel(KERNEL_BASE + pa, pte_make_kernel(pa, false));
	io_for_each_page(map_io);
}

struct root_entry *pagetable_root_new(void)
{
	struct frame *frame = pagetable_table_new();
	struct root_entry *root;

	if (!frame)
		return NULL;
	root = frame_kva(frame);
	memcpy(pagetable_root(root) + KERNEL_FIRST, pagetable_root(kernel_root) + KERNEL_FIRST,
	       (PTE_PER_TABLE - KERNEL_FIRST) * sizeof(*root));
	return root;
}

void pagetable_root_free(struct root_entry *root)
{
	levels_free(root);
	frame_put(kva_frame(root));
}

void slot_set(struct root_entry *slot, const struct frame *table)
{
	*slot = root_entry_make(frame_pa(table), mmu->root_bits);
}

static int add_table(struct mm *mm, struct root_entry *slot)
{
	struct frame *frame = slot ? pagetable_table_new() : NULL;

	if (!frame)
		return -ENOMEM;
	mm->table_pages++;
	slot_set(slot, frame);
	return 0;
}

NOINLINE static struct pte *entry_in_own_table(struct mm *mm, vaddr_t address)
{
	struct root_entry *slot = pagetable_slot_make(mm->root, address);

	if (!slot || slot_empty(slot) ? add_table(mm, slot) : table_unshare(mm, address))
		return NULL;
	return &slot_table(slot)[pagetable_index(address)];
}

CAUSE(fault) struct pte *pagetable_make(struct mm *mm, vaddr_t address)
{
	const struct root_entry *slot = pagetable_slot(mm->root, address);

	if (root_entry_pa(*slot) <= pagetable_uncertain)
		return entry_in_own_table(mm, address);
	return &slot_table(slot)[pagetable_index(address)];
}

static void table_leave(struct root_entry *slot)
{
	struct frame *table = slot_frame(slot);

	slot_clear(slot);
	pagetable_left();
	frame_put(table);
}

void pagetable_free_range(struct mm *mm, vaddr_t start, vaddr_t end, vaddr_t floor, vaddr_t ceiling)
{
	/* Free a table if its whole range lies between the areas around. */
	vaddr_t first = ALIGN_DOWN(start, TABLE_SPAN), last = ALIGN_DOWN(end - 1, TABLE_SPAN);

	for (vaddr_t base = first;; base += TABLE_SPAN) {
		struct root_entry *slot = pagetable_slot(mm->root, base);

		if (!slot_empty(slot) && base >= floor && base + (TABLE_SPAN - 1) < ceiling) {
			table_leave(slot);
			mm->table_pages--;
			interrupt_window();
		}
		if (base == last)
			break;
	}
}
