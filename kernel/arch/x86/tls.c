/* Segments for threads: set_thread_area, and fs and gs, which the kernel itself does not use. */
#include <abi/user_desc.h>
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <errno.h>
#include <lib.h>
#include <syscall.h>
#include <uaccess.h>

#include "internal.h"

CAUSE(switch) u16 segment_read_fs(void)
{
	u32 value;

	__asm__ volatile("movl %%fs, %0" : "=r"(value));
	return (u16)value;
}

CAUSE(switch) u16 segment_read_gs(void)
{
	u32 value;

	__asm__ volatile("movl %%gs, %0" : "=r"(value));
	return (u16)value;
}

/* A selector may be invalid: its descriptor has gone, or a tracer or a signal frame has set it. */
#define LOAD_SEGMENT(name, value)                                                               \
	__asm__ volatile("1: movl %0, %%" name "; 2: .pushsection .text.segments, \"ax\"\n"     \
			 "3: xorl %0, %0; jmp 1b\n.popsection\n"                                \
			 ".pushsection .recoveries, \"a\"; .long 1b, 2b, 3b; .popsection"       \
			 : "+r"(value) : : "memory", "cc")

CAUSE(switch) void segments_write(u32 fs, u32 gs)
{
	LOAD_SEGMENT("fs", fs);
	LOAD_SEGMENT("gs", gs);
}

/* The last number given to contents of segments. Segments of different contents never have the same number. */
static u32 contents_named;

/* Gives the task's segments a new name. If the address space has its own table, the name has the bit SEGMENTS_LOCAL. */
CAUSE(switch) void segments_rename(struct task *task)
{
	message_forget();
	task->arch.segments = (++contents_named & ~SEGMENTS_LOCAL) | (task->arch.segments & SEGMENTS_LOCAL);
}

u32 segments_of_child(struct task *parent)
{
	return parent->arch.segments & SEGMENTS_LOCAL ? (++contents_named & ~SEGMENTS_LOCAL) | SEGMENTS_LOCAL :
							parent->arch.segments;
}

CAUSE(switch) static void table_load(struct cpu_state *cpu, struct task *task)
{
	for (u32 i = 0; i < SEGMENTS_TLS; i++)
		cpu->gdt[SEGMENT_TLS + i] = task->arch.tls[i];
	if (cpu->segments || task->arch.segments & SEGMENTS_LOCAL)
		local_table_load(cpu, task);
}

/*
 * Most programs have no segments of their own, and fs and gs are 0; processes of one program have the same ones. A look
 * costs less than to load them.
 */
CAUSE(switch) void tls_switch(struct task *previous, struct task *next)
{
	u32 fs, gs;

	__asm__ volatile("movl %%fs, %0; movl %%gs, %1" : "=r"(fs), "=r"(gs));
	previous->arch.fs = (u16)fs;
	previous->arch.gs = (u16)gs;
	if (previous->arch.segments != next->arch.segments)
		table_load(&next->cpu->arch, next);
	else if (fs == next->arch.fs && gs == next->arch.gs)
		return;
	segments_write(next->arch.fs, next->arch.gs);
}

CAUSE(switch) void tls_clear(struct task *task)
{
	message_forget();
	memset(task->arch.tls, 0, sizeof(task->arch.tls));
	task->arch.fs = task->arch.gs = 0;
	task->arch.segments = 0;
	if (task == current) {
		table_load(&this_cpu()->arch, task);
		segments_write(0, 0);
	}
}

/* What Linux calls an empty descriptor: all 0, or not present and read-only (x86 asm/desc.h). */
static bool is_empty(const struct user_desc *info)
{
	return !info->base && !info->limit &&
	       (!info->flags || info->flags == (USER_DESC_READ_ONLY | USER_DESC_ABSENT));
}

/* 0 or -EINVAL. Only 32-bit data segments are allowed. */
static int make_descriptor(const struct user_desc *info, u64 *descriptor)
{
	u32 access = SEGMENT_PROGRAMS | SEGMENT_MEMORY | SEGMENT_ACCESSED, flags = SEGMENT_32BIT;

	*descriptor = 0;
	if (is_empty(info))
		return 0;
	if (!(info->flags & USER_DESC_32BIT) || (info->flags & USER_DESC_CONTENTS) > USER_DESC_GROWS_DOWN ||
	    info->flags & USER_DESC_ABSENT)
		return -EINVAL;
	access |= SEGMENT_PRESENT;
	access |= info->flags & USER_DESC_GROWS_DOWN ? SEGMENT_DOWN : 0;
	access |= info->flags & USER_DESC_READ_ONLY ? 0 : SEGMENT_WRITABLE;
	flags |= info->flags & USER_DESC_PAGES ? SEGMENT_PAGES : 0;
	flags |= info->flags & USER_DESC_USEABLE ? SEGMENT_SOFTWARE : 0;
	*descriptor = segment_make(info->base, info->limit, access, flags);
	return 0;
}

CAUSE(switch) static void set_descriptor(struct task *task, u32 slot, u64 descriptor)
{
	task->arch.tls[slot] = descriptor;
	segments_rename(task);
	if (task == current) {
		table_load(&this_cpu()->arch, task);
		/* Load the segment registers again: programs see the new descriptor at once, as on Linux. */
		segments_write(segment_read_fs(), segment_read_gs());
	}
}

/* The slot of an entry of the table; -1: the entry is not one of those that threads set. */
static int slot_of(u32 entry)
{
	return entry - SEGMENT_TLS < SEGMENTS_TLS ? (int)(entry - SEGMENT_TLS) : -1;
}

long sys_set_thread_area(struct user_desc *user)
{
	struct user_desc info;
	u64 descriptor;
	int slot;

	if (copy_from_user(&info, user, sizeof(info)))
		return -EFAULT;
	if (make_descriptor(&info, &descriptor))
		return -EINVAL;
	if (info.entry == ~0u) {
		for (slot = 0; slot < SEGMENTS_TLS && current->arch.tls[slot]; slot++)
			;
		if (slot == SEGMENTS_TLS)
			return -ESRCH;
		if (put_user((u32)slot + SEGMENT_TLS, &user->entry))
			return -EFAULT;
	} else {
		slot = slot_of(info.entry);
		if (slot < 0)
			return -EINVAL;
	}
	set_descriptor(current, (u32)slot, descriptor);
	return 0;
}

long sys_get_thread_area(struct user_desc *user)
{
	struct user_desc info;
	u32 low, high;
	int slot;

	if (get_user(info.entry, &user->entry))
		return -EFAULT;
	slot = slot_of(info.entry);
	if (slot < 0)
		return -EINVAL;
	low = (u32)current->arch.tls[slot];
	high = (u32)(current->arch.tls[slot] >> 32);
	info.base = low >> 16 | (high & 0xff) << 16 | (high & 0xff000000);
	info.limit = (low & 0xffff) | (high & 0xf0000);
	info.flags = USER_DESC_READ_ONLY | USER_DESC_ABSENT;
	if (high)
		info.flags = (high & SEGMENT_32BIT << 20 ? USER_DESC_32BIT : 0) |
			     (high & SEGMENT_DOWN << 8 ? USER_DESC_GROWS_DOWN : 0) |
			     (high & SEGMENT_WRITABLE << 8 ? 0 : USER_DESC_READ_ONLY) |
			     (high & SEGMENT_PAGES << 20 ? USER_DESC_PAGES : 0) |
			     (high & SEGMENT_SOFTWARE << 20 ? USER_DESC_USEABLE : 0);
	return copy_to_user(user, &info, sizeof(info));
}

static int read_descriptor(u32 address, u32 *slot, u64 *descriptor)
{
	struct user_desc info;

	if (copy_from_user(&info, (const void *)address, sizeof(info)))
		return -EFAULT;
	*slot = (u32)slot_of(info.entry);
	return *slot < SEGMENTS_TLS ? make_descriptor(&info, descriptor) : -EINVAL;
}

/* CLONE_SETTLS: `value` is the address of the new task's segment. */
int thread_pointer_check(u32 value)
{
	u64 descriptor;
	u32 slot;

	return read_descriptor(value, &slot, &descriptor);
}

/* If another thread has made the descriptor invalid since the check, the child keeps the descriptor of its parent. */
void regs_set_thread_pointer(struct regs *regs, u32 value)
{
	u64 descriptor;
	u32 slot;

	if (!read_descriptor(value, &slot, &descriptor))
		set_descriptor(task_of_regs(regs), slot, descriptor);
}
