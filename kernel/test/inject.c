/*
 * Faults for the invariant checker to find. "<fault> <address>" written to /proc/check breaks one invariant in the
 * writer's address space. The checker must be on, or the fault would cause damage unnoticed.
 */
#include <arch.h>
#include <arch/hash.h>
#include <check.h>
#include <arch/vsid.h>
#include <errno.h>
#include <flush.h>
#include <frame.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <task.h>
#include <uaccess.h>

/* A page that is mapped and in the TLB. */
struct target {
	struct mm *mm;
	uaddr_t address;
	u32 vsid;
	struct pte *entry;
	struct frame *frame;
};

/* The tree permits writing where the area does not. */
static void make_writable(const struct target *t)
{
	pagetable_set(t->entry, pte_make_writable(pte_get(t->entry)));
	flush->page(t->mm, t->address);
}

/* The hash table maps the page to another frame. */
static void change_hpte(const struct target *t)
{
	hash_remove_searching(t->mm, t->vsid, t->address);
	hash_placed(t->address, hash_insert(t->vsid, t->address, pte_get(t->entry) ^ PAGE_SIZE));
}

/* The hash table has the page twice. */
static void double_hpte(const struct target *t)
{
	while (hash_copies(t->vsid, t->address) < 2)
		hash_placed(t->address, hash_insert(t->vsid, t->address, pte_get(t->entry)));
}

/* Write permission is removed from tree and hash table, but not from the TLB. */
static void leave_tlb(const struct target *t)
{
	if (hash_table)
		hash_remove_searching(t->mm, t->vsid, t->address);
	pagetable_set(t->entry, pte_write_protect(pte_get(t->entry)));
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

static const struct {
	const char *name;
	void (*make)(const struct target *t);
	bool in_hash;           /* only where there is a hash table */
} faults[] = {
	{ "tree", make_writable, false }, { "hpte", change_hpte, true }, { "hpte-twice", double_hpte, true },
	{ "tlb", leave_tlb, false }, { "mapped", count_mapping, false }, { "resident", count_page, false },
	{ "areas", count_area, false }, { "freed", free_frame, false }, { "room", change_room, false },
	{ "stack", overflow_stack, false },
};

static int find_target(vaddr_t address, struct target *out)
{
	u32 word;

	if (get_user(word, (const u32 *)address))
		return -EFAULT;
	out->mm = current->mm;
	out->address = ALIGN_DOWN(address, PAGE_SIZE);
	out->vsid = context_vsid(out->mm, out->address);
	out->entry = pagetable_find(out->mm->root, out->address);
	out->frame = pte_frame(pte_get(out->entry));
	return out->frame ? 0 : -ENXIO;
}

int check_store(const char *words, size_t size)
{
	char line[64], *space;
	struct target target;
	vaddr_t address;
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
	if (parse_u32(space + 1, &address))
		return -EINVAL;
	for (size_t i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strcmp(faults[i].name, line) != 0)
			continue;
		error = faults[i].in_hash && !hash_table ? -ENODEV : find_target(address, &target);
		if (!error)
			faults[i].make(&target);
		return error;
	}
	return -EINVAL;
}
