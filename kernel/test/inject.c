/*
 * Faults for the invariant checker to find. "<fault> <address>" written to /proc/check breaks one invariant in the
 * writer's address space, or the order of locks (smp.h). The checker must be on, or the fault would cause damage
 * unnoticed.
 */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <flush.h>
#include <frame.h>
#include <kernel_buffer.h>
#include <lib.h>
#include <mm.h>
#include <mmu.h>
#include <pagetable.h>
#include <smp.h>
#include <task.h>
#include <uaccess.h>

/* A page that is mapped and in the TLB. */
struct target {
	struct mm *mm;
	uaddr_t address;
	struct pte *entry;
	struct frame *frame;
};

/* The tree permits writing where the area does not. */
static void make_writable(const struct target *t)
{
	pagetable_set(t->entry, pte_make_writable(pte_get(t->entry)));
	flush->page(t->mm, t->address);
}

static void count_mapping(const struct target *t)
{
	t->frame->refs++;
}

static void count_page(const struct target *t)
{
	t->mm->resident_pages++;
}

static void count_area(const struct target *t)
{
	t->mm->area_count++;
}

static void change_room(const struct target *t)
{
	struct vma *root = rb_entry(t->mm->areas.node, struct vma, node);

	root->room += PAGE_SIZE;
	root->node.stale = false;
}

static void free_frame(const struct target *t)
{
	frame_put(t->frame);
}

/* Uses the stack down to the red zone, then causes an interrupt there. */
NOINLINE static u32 use_stack(const struct target *t)
{
	volatile u32 space[64];
	u32 word, left = (vaddr_t)__builtin_frame_address(0) - (vaddr_t)current->kernel_stack;

	space[0] = 0;
	if (left >= STACK_RED_ZONE)
		space[0] = use_stack(t);
	else if (get_user(word, (const u32 *)(t->address + PAGE_SIZE)))
		space[0] = 1;
	return space[0];
}

static void overflow_stack(const struct target *t)
{
	if (!use_stack(t))
		panic("check: the page after the target is there");
}

static void buffer_use(void *page)
{
	(void)*(volatile char *)page;
}

/*
 * A page of the kernel's own leaves the tree, and stays cached: here, or in the TLBs of other processors. It needs
 * kernel.buffers=mapped.
 */
static void buffer_leave(bool here)
{
	struct frame *frame = frame_alloc(FRAME_KERNEL);
	vaddr_t place = 0;
	char *page = frame ? kernel_buffers->map(&place, 0, frame) : NULL;

	if (!place)
		return;
	if (here)
		buffer_use(page);
	else
		cpus_call(cpus_others(), buffer_use, page);
	pagetable_set(pagetable_find(kernel_root, place), PTE_NONE);
	if (!here)
		mmu->kernel_page_flush(place);
	check_kernel(place, place + PAGE_SIZE, "a kernel buffer left the tree");
}

static void keep_buffer(const struct target *t)
{
	(void)t;
	buffer_leave(true);
}

static void keep_elsewhere(const struct target *t)
{
	(void)t;
	buffer_leave(false);
}

/* The faults of other names are made by several processors (smp.h), or by the backend. */
static const struct {
	const char *name;
	void (*make)(const struct target *t);
} fault_kinds[] = {
	{ "tree", make_writable }, { "mapped", count_mapping }, { "resident", count_page }, { "areas", count_area },
	{ "freed", free_frame },   { "room", change_room },     { "stack", overflow_stack },
	{ "buffer", keep_buffer },
	{ "buffer-elsewhere", keep_elsewhere },
};

static int find_target(vaddr_t address, struct target *out)
{
	u32 word;

	if (get_user(word, (const u32 *)address))
		return -EFAULT;
	out->mm = current->mm;
	out->address = ALIGN_DOWN(address, PAGE_SIZE);
	out->entry = pagetable_find(out->mm->root, out->address);
	out->frame = pte_frame(pte_get(out->entry));
	return out->frame ? 0 : -ENXIO;
}

int check_store(const char *words, size_t size)
{
	char line[64], *space;
	struct target target;
	u32 number;
	int error;

	if (!boot.check)
		return -EPERM;
	if (size >= sizeof(line))
		return -EINVAL;
	memcpy(line, words, size);
	line[size] = '\0';
	space = strchr(line, ' ');
	if (!space)
		return -EINVAL;
	*space = '\0';
	if (parse_u32(space + 1, &number))
		return -EINVAL;
	error = find_target(number, &target);
	if (error)
		return error;
	for (size_t i = 0; i < ARRAY_SIZE(fault_kinds); i++) {
		if (strcmp(fault_kinds[i].name, line) != 0)
			continue;
		fault_kinds[i].make(&target);
		return 0;
	}
	if (several_fault(line))
		return 0;
	return mmu->make_fault ? mmu->make_fault(line, target.mm, target.address) : -EINVAL;
}
