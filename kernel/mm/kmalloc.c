/*
 * Kernel objects: slabs of one page for sizes up to 2 KB, blocks of frames above. The page's struct frame tells kfree
 * what it holds, so objects need no header.
 */
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>
#include <list.h>
#include <window.h>

#define LARGE 0xffu             /* in frame->private: the block is one object */

#define LARGEST 2048u           /* the largest size of a slab's objects */
/*
 * 672 is for struct process. With 800 for both, processes lay between tasks, and two programs that exchange messages
 * had their tasks in two pages: a further miss of an i486's TLB in each message.
 */
static const u16 object_sizes[] = { 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 672, 800, 1024, 1344, LARGEST };

/* The frame of a slab is linked into its class's list. */
struct object {
	struct object *next;
};

struct class {
	struct list_head partial;       /* slabs with a free object, by frame->link */
};

/* At the start of each slab. */
struct slab {
	struct object *free;
	u16 used;
	u8 class;
	u8 pad[25];
};

static struct class size_classes[ARRAY_SIZE(object_sizes)];
static size_t bytes_used;
size_t kmalloc_plain = LARGEST;
static u32 object_count;

/* The class of a size up to LARGEST. The search starts at the first class of the size's power of two. */
static unsigned class_for(size_t size)
{
	static const u8 first[] = { 0, 0, 0, 0, 1, 2, 3, 4, 6, 8, 10, 13 };
	unsigned i = first[size > 1 ? 32 - __builtin_clz(size - 1) : 0];

	while (object_sizes[i] < size)
		i++;
	return i;
}

static struct slab *slab_new(unsigned class)
{
	struct frame *frame = frame_alloc(FRAME_KERNEL);
	struct slab *slab;
	u32 size = object_sizes[class], last;

	if (!frame)
		return NULL;
	slab = frame_kva(frame);
	slab->free = NULL;
	slab->used = 0;
	slab->class = (u8)class;
	/*
	 * Place objects from the end of the page, which keeps the largest alignment, and leave the rest to the header.
	 */
	last = (PAGE_SIZE - (u32)sizeof(*slab)) / size;
	for (u32 i = 1; i <= last; i++) {
		struct object *object = (struct object *)((u8 *)slab + PAGE_SIZE - i * size);

		object->next = slab->free;
		slab->free = object;
	}
	frame->private = 0;
	list_add(&frame->link, &size_classes[class].partial);
	return slab;
}

static void *kmalloc_large(size_t size)
{
	unsigned order = 0;
	struct frame *frame;

	while (PAGE_SIZE << order < size)
		if (++order > FRAME_ORDER_MAX)
			return NULL;
	frame = frame_alloc_order(FRAME_KERNEL, order);
	if (!frame)
		return NULL;
	frame->private = LARGE;
	bytes_used += PAGE_SIZE << order;
	object_count++;
	return frame_kva(frame);
}

void *kmalloc(size_t size)
{
	struct object *object;
	struct slab *slab;
	unsigned class;

	if (size - 1 >= kmalloc_plain) {
		if (!size || failalloc_hit())
			return NULL;
		if (size > LARGEST)
			return kmalloc_large(size);
	}
	class = class_for(size);
	if (!size_classes[class].partial.next)
		list_init(&size_classes[class].partial);
	if (list_empty(&size_classes[class].partial)) {
		slab = slab_new(class);
		if (!slab)
			return NULL;
	} else {
		slab = frame_kva(list_first_entry(&size_classes[class].partial, struct frame, link));
	}
	object = slab->free;
	slab->free = object->next;
	slab->used++;
	if (!slab->free)
		list_del(&kva_frame(slab)->link);
	bytes_used += object_sizes[class];
	object_count++;
	return object;
}

/* Nobody else knows of the object: interrupts may come while it is cleared. */
NOINLINE static void clear_large(u8 *object, size_t size)
{
	while (size > PAGE_SIZE) {
		memset(object, 0, PAGE_SIZE);
		interrupt_window();
		object += PAGE_SIZE;
		size -= PAGE_SIZE;
	}
	memset(object, 0, size);
}

void *kzalloc(size_t size)
{
	void *object = kmalloc(size);

	if (object && size > PAGE_SIZE)
		clear_large(object, size);
	else if (object)
		memset(object, 0, size);
	return object;
}

void kfree(const void *p)
{
	struct object *object = (struct object *)p;
	struct frame *frame;
	struct slab *slab;

	if (!p)
		return;
	frame = kva_frame(p);
	ASSERT(frame->use == FRAME_KERNEL && frame->refs == 1);
	object_count--;
	if (frame->private == LARGE) {
		bytes_used -= PAGE_SIZE << frame->order;
		frame_put(frame);
		return;
	}
	slab = (struct slab *)((vaddr_t)p & PAGE_MASK);
	bytes_used -= object_sizes[slab->class];
	if (!slab->free)
		list_add(&frame->link, &size_classes[slab->class].partial);
	object->next = slab->free;
	slab->free = object;
	/*
	 * Each class keeps one empty slab, so that one object allocated and freed repeatedly does not create a slab
	 * each time.
	 */
	if (--slab->used == 0 && !list_single(&size_classes[slab->class].partial)) {
		list_del(&frame->link);
		frame_put(frame);
	}
}

char *kmalloc_text(const char *text, size_t length)
{
	char *copy = kmalloc(length + 1);

	if (copy) {
		memcpy(copy, text, length);
		copy[length] = 0;
	}
	return copy;
}

size_t kmalloc_bytes(void)
{
	return bytes_used;
}

u32 kmalloc_objects(void)
{
	return object_count;
}
