/*
 * kernel.buffers: at which addresses the kernel reaches the buffers of pipes and the page by which execve copies
 * arguments.
 *
 * linear: where all RAM is mapped, by a mapping that never changes. mapped: in a region of their own. A page is mapped
 * when the buffer gets it, and all pages of a buffer are unmapped when it is released, which each processor has to be
 * told of.
 *
 * OpenBSD did so when the document was written: pipespace() and pipe_free_kmem() (kern/sys_pipe.c) take and return
 * addresses of kernel_map, and sys_execve() (kern/kern_exec.c) of exec_map. Pages come at the first access, and
 * uvm_km_free() removes them. It did so with stacks, page directories and blocks of files, too; docs/policies.md says
 * why those stay in the linear mapping here.
 */
#include <arch.h>
#include <check.h>
#include <errno.h>
#include <kernel_buffer.h>
#include <lib.h>
#include <mmu.h>
#include <pagetable.h>
#include <policy.h>
#include <text.h>

#include "../internal.h"

#define PLACE_SIZE (BUFFER_PAGES * PAGE_SIZE)
#define PLACES (KERNEL_BUFFERS_SIZE / PLACE_SIZE)

static u32 places_taken[PLACES / 32];   /* a bit each */
static u32 mapped_now;
static u32 pages_unplaced;              /* that found no place, and are reached by the linear mapping */
static u64 pages_unmapped;

static char *linear_map(vaddr_t *place, u32 page, struct frame *frame)
{
	(void)place;
	(void)page;
	return frame_kva(frame);
}

static void linear_unmap(vaddr_t *place, enum shootdown_reason why)
{
	(void)place;
	(void)why;
}

/* The lowest free place; 0: there is none. */
static vaddr_t place_take(void)
{
	for (u32 i = 0; i < ARRAY_SIZE(places_taken); i++)
		if (~places_taken[i]) {
			u32 bit = (u32)__builtin_ctz(~places_taken[i]);

			places_taken[i] |= 1u << bit;
			return KERNEL_BUFFERS + (i * 32 + bit) * PLACE_SIZE;
		}
	return 0;
}

static void place_give(vaddr_t place)
{
	u32 number = (place - KERNEL_BUFFERS) / PLACE_SIZE;

	places_taken[number / 32] &= ~(1u << number % 32);
}

static char *page_map(vaddr_t *place, u32 page, struct frame *frame)
{
	vaddr_t address;

	if (!*place)
		*place = place_take();
	if (!*place) {
		pages_unplaced++;
		return frame_kva(frame);
	}
	address = *place + page * PAGE_SIZE;
	pagetable_install(pagetable_find(kernel_root, address), pte_make_kernel(frame_pa(frame), false));
	mapped_now++;
	shootdown_kernel_mapped(address);
	return (char *)address;
}

CAUSE(flush) static void place_unmap(vaddr_t *place, enum shootdown_reason why)
{
	struct pte *entry = *place ? pagetable_find(kernel_root, *place) : NULL;        /* one table covers a place */
	vaddr_t start = 0, end = 0;

	if (!entry)
		return;
	for (vaddr_t address = *place; address < *place + PLACE_SIZE; address += PAGE_SIZE, entry++) {
		if (pte_none(pte_get(entry)))
			continue;
		pagetable_set(entry, PTE_NONE);
		mmu->kernel_page_flush(address);
		pagetable_clear(entry);
		start = start ? start : address;
		end = address + PAGE_SIZE;
		mapped_now--;
		pages_unmapped++;
	}
	shootdown_kernel(start, end, why);
	check_kernel(start, end, "the unmapping of a kernel buffer");
	place_give(*place);
	*place = 0;
}

char *buffer_linear(char *address)
{
	if ((vaddr_t)address - KERNEL_BUFFERS >= KERNEL_BUFFERS_SIZE)
		return address;
	return frame_kva(pte_frame(pagetable_read(kernel_root, (vaddr_t)address)));
}

static const struct kernel_buffers linear_buffers = { linear_map, linear_unmap };
static const struct kernel_buffers mapped_buffers = { page_map, place_unmap };
const struct kernel_buffers *kernel_buffers = &linear_buffers;

void kernel_buffers_show(struct text *text)
{
	u32 places = 0;

	for (u32 i = 0; i < ARRAY_SIZE(places_taken); i++)
		places += (u32)__builtin_popcount(places_taken[i]);
	text_printf(text, "mapped %u\nplaces %u\nunplaced %u\nunmapped %llu\n", mapped_now, places, pages_unplaced,
		    pages_unmapped);
}

/* Before the first program: each root has a copy of the kernel's part. */
static int kernel_buffers_apply(const struct policy_setting *to)
{
	if (!to->choice)
		return 0;
	if (!mmu->kernel_page_flush)
		return -ENODEV;
	pagetable_kernel_tables(KERNEL_BUFFERS, KERNEL_BUFFERS + KERNEL_BUFFERS_SIZE);
	kernel_buffers = &mapped_buffers;
	return 0;
}

POLICY(kernel_buffers, "kernel.buffers", CHOICES("linear", "mapped"), POLICY_BOOT, kernel_buffers_apply, "unmapped",
       &pages_unmapped);
