#include <arch.h>
#include <mmu.h>
#include <arch/pte.h>
#include <errno.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <proc.h>

#define KERNEL_FIRST (KERNEL_BASE >> ROOT_SHIFT)

u32 *kernel_root;

u32 pagetable_base = KERNEL_BASE;
u64 pagetables_uncached;

/* What the cache has of a fresh table leaves when tables are reached past the cache. */
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

static void map_kernel(u32 virtual, u32 pte)
{
	u32 *slot = &kernel_root[virtual >> ROOT_SHIFT];

	if (!*slot) {
		struct frame *frame = pagetable_table_new();

		if (!frame)
			fatal(EXIT_MEMORY, "no memory for the kernel's page tables");
		*slot = frame_pa(frame) | mmu->root_bits_kernel;
	}
	pagetable_table(*slot)[pagetable_index(virtual)] = pte;
}

static void map_io(u32 virtual, u32 pa)
{
	map_kernel(virtual, pa | PTE_VALID | PTE_CHANGED | PTE_UNCACHED | PTE_GUARDED | PP_KERNEL);
}

void pagetable_init(void)
{
	struct frame *frame = pagetable_table_new();
	u32 pa;

	if (!frame)
		fatal(EXIT_MEMORY, "no memory for the kernel's page tables");
	kernel_root = frame_kva(frame);
	for (pa = 0; pa < boot.memory_size; pa += PAGE_SIZE)
		map_kernel(KERNEL_BASE + pa, pa | PTE_VALID | PTE_CHANGED | PP_KERNEL);
	io_for_each_page(map_io);
}

u32 *pagetable_root_new(void)
{
	struct frame *frame = pagetable_table_new();
	u32 *root;

	if (!frame)
		return NULL;
	root = frame_kva(frame);
	memcpy(pagetable_root(root) + KERNEL_FIRST, pagetable_root(kernel_root) + KERNEL_FIRST,
	       (PTE_PER_TABLE - KERNEL_FIRST) * sizeof(*root));
	return root;
}

void pagetable_root_free(u32 *root)
{
	frame_put(kva_frame(root));
}

static int add_table(struct mm *mm, u32 *slot)
{
	struct frame *frame = pagetable_table_new();

	if (!frame)
		return -ENOMEM;
	mm->table_pages++;
	*slot = frame_pa(frame) | mmu->root_bits;
	return 0;
}

NOINLINE static u32 *entry_in_own_table(struct mm *mm, u32 *slot, u32 address)
{
	if (*slot ? table_unshare(mm, address) : add_table(mm, slot))
		return NULL;
	return &pagetable_table(*slot)[pagetable_index(address)];
}

CAUSE(fault) u32 *pagetable_make(struct mm *mm, u32 address)
{
	u32 *slot = &pagetable_root(mm->root)[address >> ROOT_SHIFT];

	if (!*slot || tables_shared)
		return entry_in_own_table(mm, slot, address);
	return &pagetable_table(*slot)[pagetable_index(address)];
}

void pagetable_free_range(struct mm *mm, u32 start, u32 end, u32 floor, u32 ceiling)
{
	/* A table goes when all that it covers lies between the areas around. */
	u32 first = start & ~0x3fffffu, last = (end - 1) & ~0x3fffffu;

	for (u32 base = first;; base += 0x400000) {
		u32 *slot = &pagetable_root(mm->root)[base >> ROOT_SHIFT];

		if (*slot && base >= floor && base + 0x3fffff < ceiling) {
			frame_put(pa_frame(*slot & PTE_RPN));
			*slot = 0;
			mm->table_pages--;
			interrupt_window();
		}
		if (base == last)
			break;
	}
}
