/* Page frames: a buddy allocator. */
#include <arch.h>
#include <cpu.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <outside.h>
#include <shootdown.h>
#include <smp.h>
#include <task.h>

#include "internal.h"

struct frame *frames;
u32 frame_count;
u64 failalloc_count, failalloc_before;

static struct list_head free_blocks[FRAME_ORDER_MAX + 1];
struct frame_statistics frame_counts;
static u64 failalloc_at;
int frame_order_plain = FRAME_ORDER_MAX;

void failalloc_set(u32 n)
{
	failalloc_before = failalloc_count;
	failalloc_count = 0;
	failalloc_at = n;
	frame_order_plain = -1;
	kmalloc_plain = 0;
}

bool failalloc_hit(void)
{
	return ++failalloc_count == failalloc_at;
}

/*
 * The largest order whose shortage ends a process. A larger block may be missing because memory is in pieces, and the
 * end of a process need not join them.
 */
#define OOM_ORDER_MOST 1u

static void frame_change_use(struct frame *frame, enum frame_use use)
{
	u32 size = 1u << frame->order;

	frame_counts.use[frame->use] -= size;
	frame_counts.use[use] += size;
	frame->use = (u8)use;
}

/* Puts a block into its free list, after merging it with its buddy as often as the buddy is free and as large. */
static void frame_release(struct frame *frame)
{
	u32 number = frame_number(frame);

	while (frame->order < FRAME_ORDER_MAX) {
		u32 other = number ^ 1u << frame->order;
		struct frame *buddy = &frames[other];

		if (other >= frame_count || buddy->use != FRAME_FREE || buddy->order != frame->order ||
		    list_empty(&buddy->link))
			break;
		list_del(&buddy->link);
		number &= ~(1u << frame->order);
		frame->use = buddy->use = FRAME_FREE;
		frames[number].order = (u8)(frame->order + 1);
		frame = &frames[number];
	}
	list_add(&frame->link, &free_blocks[frame->order]);
}

static struct frame *frame_take(unsigned order)
{
	unsigned from = order;
	struct frame *frame;

	while (from <= FRAME_ORDER_MAX && list_empty(&free_blocks[from]))
		from++;
	if (from > FRAME_ORDER_MAX)
		return NULL;
	frame = list_first_entry(&free_blocks[from], struct frame, link);
	list_del(&frame->link);
	while (from > order) {
		struct frame *half = frame + (1u << --from);

		half->order = (u8)from;
		half->use = FRAME_FREE;
		list_add(&half->link, &free_blocks[from]);
	}
	frame->order = (u8)order;
	return frame;
}

static struct frame *give_out(struct frame *frame, enum frame_use use)
{
	frame_counts.allocations++;
	frame_change_use(frame, use);
	frame->refs = 1;
	frame->private = 0;
	return frame;
}

/* Whether an allocation is to fail on purpose. */
static inline bool frame_refused(unsigned order)
{
	return (int)order > frame_order_plain && (failalloc_hit() || order > FRAME_ORDER_MAX);
}

static inline void note_shortage(unsigned order)
{
	if (order <= OOM_ORDER_MOST && frames_short() && current->mm) {
		current->work |= WORK_MEMORY;
		current->oom_ended_at_failure = oom_ended;
	}
}

/*
 * With code outside of the kernel lock (outside.h), free lists, counts and the lists of cleared frames have a lock. A
 * frame that is allocated belongs to its owners, whose number changes without it.
 */
struct spinlock frames_lock = { .name = "frames" };

/*
 * Each processor keeps the frames that it freed last, since their lines are in its cache: in another's they would cost
 * the bus. They are free, but in no list, so that they are not merged.
 */
#define SPARES_MOST 32u

static void spare_add(struct cpu *cpu, struct frame *frame)
{
	list_init(&frame->link);
	frame->refs = cpu->first_spare;
	cpu->first_spare = frame_number(frame);
	cpu->spare_count++;
}

static struct frame *spare_take(struct cpu *cpu)
{
	struct frame *frame = &frames[cpu->first_spare];

	if (!cpu->spare_count)
		return NULL;
	cpu->first_spare = frame->refs;
	frame->refs = 0;
	cpu->spare_count--;
	return frame;
}

/* Returns all spare frames to the lists; false: there were none. */
static bool spares_return(void)
{
	struct frame *frame;
	bool any = false;

	for_each_cpu(cpu)
		while ((frame = spare_take(cpu))) {
			frame_release(frame);
			any = true;
		}
	return any;
}

static struct frame *take_spare_or_listed(unsigned order)
{
	struct frame *frame = outside_bound() && !order ? spare_take(this_cpu()) : NULL;

	if (!frame)
		frame = frame_take(order);
	if (!frame && outside_bound() && spares_return())
		frame = frame_take(order);
	return frame;
}

/* No free block was found: frees the frames that were cleared ahead or are held, and looks again. */
static struct frame *take_returned(unsigned order)
{
	struct frame *frame;

	frames_lock_give();
	frames_return_cleared();
	frames_return_held();
	frames_lock_take();
	frame = take_spare_or_listed(order);
	/* Other processors change current->work with the kernel lock. A fault that fails here is repeated with it. */
	if (!frame && kernel_lock_held())
		note_shortage(order);
	return frame;
}

struct frame *frame_alloc_order(enum frame_use use, unsigned order)
{
	struct frame *frame = NULL;

	frames_lock_take();
	if (!frame_refused(order)) {
		frame = take_spare_or_listed(order);
		if (!frame)
			frame = take_returned(order);
	}
	if (frame)
		give_out(frame, use);
	else
		frame_counts.failures++;
	frames_lock_give();
	return frame;
}

/* The idle task calls this and the next with interrupts on. */
struct frame *frame_set_aside(void)
{
	u32 state = irq_save();
	struct frame *frame;

	frames_lock_take();
	frame = frame_take(0);          /* no spare frame: the processor that freed it takes it first */
	if (frame)
		list_init(&frame->link);        /* an unlisted block is merged with no buddy */
	frames_lock_give();
	irq_restore(state);
	return frame;
}

void frame_return(struct frame *frame)
{
	u32 state = irq_save();

	frames_lock_take();
	frame_release(frame);
	frames_lock_give();
	irq_restore(state);
}

struct frame *frame_account(struct frame *frame, enum frame_use use)
{
	if (frame_refused(0)) {
		frame_counts.failures++;
		frame_release(frame);
		return NULL;
	}
	return give_out(frame, use);
}

struct frame *frame_alloc(enum frame_use use)
{
	return frame_alloc_order(use, 0);
}

struct frame *(*frame_alloc_zeroed)(enum frame_use use) = frame_alloc_zeroed_now;

struct frame *frame_alloc_zeroed_now(enum frame_use use)
{
	struct frame *frame = frame_alloc(use);

	if (frame)
		frame_clear(frame);
	return frame;
}

static inline __attribute__((always_inline)) void account_free(struct frame *frame)
{
	ASSERT(frame->refs == 0 && frame->use > FRAME_RESERVED);
	frame_counts.frees++;
	frame_change_use(frame, FRAME_FREE);
}

void frame_free(struct frame *frame)
{
	struct cpu *cpu = this_cpu();

	frames_lock_take();
	account_free(frame);
	if (outside_bound() && frame->order == 0 && cpu->spare_count < SPARES_MOST)
		spare_add(cpu, frame);
	else
		frame_release(frame);
	frames_lock_give();
}

NOINLINE CAUSE(clear) void frame_clear(struct frame *frame)
{
	vaddr_t start = (vaddr_t)frame_kva(frame);

	arch_lines_clear(start, start + PAGE_SIZE, arch_cpu.dcache_line);
}

void frame_set_dirty(struct frame *frame, bool dirty)
{
	frames_lock_take();
	frame_change_use(frame, dirty ? FRAME_DIRTY : FRAME_CACHE);
	frames_lock_give();
}

void *(*frame_copy_block)(void *to, const void *from, size_t n) = memcpy;

CAUSE(copy) void frame_copy(struct frame *to, const struct frame *from)
{
	frame_copy_block(frame_kva(to), frame_kva(from), PAGE_SIZE);
}

void frame_statistics(struct frame_statistics *out)
{
	*out = frame_counts;
}

/* Gives the physical range [start, end) to the allocator, in the largest blocks that fit. */
static void add_range(paddr_t start, paddr_t end)
{
	u32 number = page_number(ALIGN_UP(start, PAGE_SIZE)), last = page_number(end);

	while (number < last) {
		struct frame *frame = &frames[number];
		unsigned order = 0;

		while (order < FRAME_ORDER_MAX && !(number & 1u << order) && number + (2u << order) <= last)
			order++;
		frame->order = (u8)order;
		frame_change_use(frame, FRAME_FREE);
		for (u32 i = 1; i < 1u << order; i++)
			frame[i].use = FRAME_FREE;
		frame_release(frame);
		number += 1u << order;
	}
}

/*
 * RAM is [0, memory_size). The kernel's image (from 0) is reserved, and so are the given ranges, which are in rising
 * order and do not overlap. The array of frames is placed behind the first range that has room for it.
 */
void frames_init(const struct frame_range *reserved, unsigned ranges)
{
	extern char kernel_end[];
	paddr_t image_end = ALIGN_UP(kva_pa(kernel_end), PAGE_SIZE);
	u32 size;
	paddr_t start;

	lock_register(&frames_lock);
	frame_count = boot.memory_size >> PAGE_SHIFT;
	size = ALIGN_UP(frame_count * (u32)sizeof(struct frame), PAGE_SIZE);
	start = image_end;
	for (unsigned i = 0; i < ranges; i++)
		if (start + size > reserved[i].start && start < reserved[i].end)
			start = ALIGN_UP(reserved[i].end, PAGE_SIZE);
	if (start + size > boot.memory_size || boot.memory_size - start - size < FRAMES_LEAST * PAGE_SIZE)
		fatal(EXIT_MEMORY, "memory: %u KB are too few", boot.memory_size / 1024);

	frames = pa_kva(start);
	memset(frames, 0, size);
	for (unsigned i = 0; i <= FRAME_ORDER_MAX; i++)
		list_init(&free_blocks[i]);
	for (struct frame *frame = frames, *end = frames + frame_count; frame < end; frame++) {
		list_init(&frame->link);
		frame->use = FRAME_RESERVED;
	}
	frame_counts.total = frame_counts.use[FRAME_RESERVED] = frame_count;

	paddr_t from = image_end;
	struct frame_range own = { start, start + size };

	for (unsigned i = 0; i <= ranges; i++) {
		/* The array may lie before, between or after the reserved ranges. */
		struct frame_range next = i < ranges ? reserved[i] :
			(struct frame_range){ boot.memory_size, boot.memory_size };

		if (own.start >= from && own.end <= next.start) {
			add_range(from, own.start);
			from = own.end;
		}
		if (next.start > from)
			add_range(from, next.start);
		from = MAX(from, next.end);
	}
}

void frames_release(paddr_t start, paddr_t end)
{
	add_range(start, end);
}
