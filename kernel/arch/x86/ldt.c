/*
 * modify_ldt: segments of an address space, in the table that LDTR names.
 *
 * Programs without such a table pay nothing at a switch: tables are looked at only if the two tasks' segments have
 * different names (tls.c), and no two tasks that have loaded a table have the same name. A processor that runs a
 * thread whose table another processor has made or moved loads it at the first fault of a selector.
 */
#include <abi/user_desc.h>
#include <arch.h>
#include <cpu.h>
#include <errno.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#include "internal.h"

#define ENTRIES_MOST  8192u     /* that a selector can name; x86 asm/ldt.h */
#define ENTRIES_FIRST 512u      /* room at first: a page */

struct local_table {
	u32 used;               /* entries up to the last one that was ever written */
	u32 room;
	u64 *entries;
	/*
	 * The table before it grew, empty: LDTR of another processor may name it until a selector faults there. Freed
	 * with the address space.
	 */
	u64 *before;
};

CAUSE(switch) void local_table_load(struct cpu_state *cpu, struct task *task)
{
	const struct local_table *table = task->mm ? task->mm->context.segments : NULL;
	const u64 *entries = table ? table->entries : NULL;
	u32 selector = entries ? SEGMENT_LDT << 3 : 0;

	if (table && !(task->arch.segments & SEGMENTS_LOCAL)) {
		task->arch.segments |= SEGMENTS_LOCAL;
		segments_rename(task);
	}
	if (cpu->segments == entries)
		return;
	cpu->segments = entries;
	if (entries)
		cpu->gdt[SEGMENT_LDT] = segment_make((u32)entries, table->room * (u32)sizeof(u64) - 1,
						     SEGMENT_PRESENT | SEGMENT_TABLE, 0);
	__asm__ volatile("lldt %w0" : : "r"(selector) : "memory");
}

bool local_table_refresh(void)
{
	const struct local_table *table = current->mm ? current->mm->context.segments : NULL;
	struct cpu_state *cpu = &this_cpu()->arch;

	if (!table || cpu->segments == table->entries)
		return false;
	local_table_load(cpu, current);
	return true;
}

static struct local_table *table_new(u32 room)
{
	struct local_table *table = kzalloc(sizeof(*table));

	if (!table)
		return NULL;
	table->entries = kzalloc(room * sizeof(u64));
	table->room = room;
	if (table->entries)
		return table;
	kfree(table);
	return NULL;
}

int mm_context_copy(struct mm_context *to, const struct mm_context *from)
{
	if (!from->segments)
		return 0;
	to->segments = table_new(from->segments->room);
	if (!to->segments)
		return -ENOMEM;
	to->segments->used = from->segments->used;
	memcpy(to->segments->entries, from->segments->entries, from->segments->used * sizeof(u64));
	return 0;
}

/* No task has it any more, but the processor may. */
void mm_context_end(struct mm_context *context)
{
	struct local_table *table = context->segments;
	struct cpu_state *cpu = &this_cpu()->arch;

	if (!table)
		return;
	if (cpu->segments == table->entries) {
		cpu->segments = NULL;
		__asm__ volatile("lldt %w0" : : "r"(0) : "memory");
	}
	kfree(table->before);
	kfree(table->entries);
	kfree(table);
}

/* The table of the running program, with room for an entry. NULL: no memory. */
static struct local_table *table_with(struct mm_context *context, u32 entry)
{
	struct local_table *table = context->segments;
	u64 *more;

	if (!table) {
		table = context->segments = table_new(entry < ENTRIES_FIRST ? ENTRIES_FIRST : ENTRIES_MOST);
	} else if (entry >= table->room) {
		more = kzalloc(ENTRIES_MOST * sizeof(u64));
		if (!more)
			return NULL;
		memcpy(more, table->entries, table->used * sizeof(u64));
		memset(table->entries, 0, table->used * sizeof(u64));
		table->before = table->entries;
		table->entries = more;
		table->room = ENTRIES_MOST;
	}
	return table;
}

/* Another processor may load it meanwhile: it is absent until all of it is there. */
static void entry_set(volatile u32 *entry, u64 descriptor)
{
	entry[1] = 0;
	entry[0] = (u32)descriptor;
	entry[1] = (u32)(descriptor >> 32);
}

/*
 * As Linux 6.1 without CONFIG_X86_16BIT, there are segments of 32 bits alone: a return to a program whose stack has 16
 * would leave it the upper half of the kernel's stack pointer.
 */
static int local_descriptor(const struct user_desc *info, bool old_form, u64 *descriptor)
{
	u32 contents = info->flags & USER_DESC_CONTENTS;
	u32 access = SEGMENT_PROGRAMS | SEGMENT_MEMORY | SEGMENT_ACCESSED, flags = 0;

	*descriptor = 0;
	if (info->entry >= ENTRIES_MOST)
		return -EINVAL;
	/* Code that any privilege may call. */
	if (contents == USER_DESC_CONTENTS && (old_form || !(info->flags & USER_DESC_ABSENT)))
		return -EINVAL;
	if (!info->base && !info->limit &&
	    (old_form || (info->flags & USER_DESC_ALL) == (USER_DESC_READ_ONLY | USER_DESC_ABSENT)))
		return 0;
	if (!(info->flags & USER_DESC_32BIT))
		return -EINVAL;
	access |= contents << 1;
	access |= info->flags & USER_DESC_READ_ONLY ? 0 : SEGMENT_WRITABLE;
	access |= info->flags & USER_DESC_ABSENT ? 0 : SEGMENT_PRESENT;
	flags |= SEGMENT_32BIT;
	flags |= info->flags & USER_DESC_PAGES ? SEGMENT_PAGES : 0;
	flags |= info->flags & USER_DESC_USEABLE && !old_form ? SEGMENT_SOFTWARE : 0;
	*descriptor = segment_make(info->base, info->limit, access, flags);
	return 0;
}

static long table_write(uaddr_t user, u32 bytes, bool old_form)
{
	struct local_table *table;
	struct user_desc info;
	u64 descriptor;

	if (bytes != sizeof(info))
		return -EINVAL;
	if (copy_from_user(&info, (const void *)user, sizeof(info)))
		return -EFAULT;
	if (local_descriptor(&info, old_form, &descriptor))
		return -EINVAL;
	table = table_with(&current->mm->context, info.entry);
	if (!table)
		return -ENOMEM;
	entry_set((volatile u32 *)&table->entries[info.entry], descriptor);
	table->used = MAX(table->used, info.entry + 1);
	local_table_load(&this_cpu()->arch, current);
	/* Load the segment registers again: they keep the old descriptor until then. */
	segments_write(segment_read_fs(), segment_read_gs());
	return 0;
}

/* What the table does not have reads as 0. */
static long table_read(uaddr_t user, u32 bytes)
{
	const struct local_table *table = current->mm->context.segments;
	u32 have;

	if (!table)
		return 0;
	bytes = MIN(bytes, ENTRIES_MOST * (u32)sizeof(u64));
	have = MIN(bytes, table->used * (u32)sizeof(u64));
	if (copy_to_user_long((void *)user, table->entries, have) ||
	    (bytes > have && clear_user((void *)(user + have), bytes - have)))
		return -EFAULT;
	return (long)bytes;
}

/* Linux of old gave each program a table with five entries. */
static long table_read_default(uaddr_t user, u32 bytes)
{
	bytes = MIN(bytes, 5 * (u32)sizeof(u64));
	return clear_user((void *)user, bytes) ? -EFAULT : (long)bytes;
}

long sys_modify_ldt(int function, uaddr_t data, size_t size)
{
	switch (function) {
	case 0:
		return table_read(data, size);
	case 1:
		return table_write(data, size, true);
	case 2:
		return table_read_default(data, size);
	case 0x11:
		return table_write(data, size, false);
	default:
		return -ENOSYS;
	}
}
