/* The tables of segments and of exceptions (Intel manual, volume 3A, 3.4.5, 6.11, 7.2). */
#include <arch.h>
#include <arch/message.h>
#include <cpu.h>
#include <smp.h>

#include "internal.h"

#define GATE_INTERRUPT 0x8e00u          /* present; disables interrupts */
#define GATE_PROGRAMS  0x6000u          /* programs may use it by INT */
#define VECTOR_BREAKPOINT 3u
#define VECTOR_OVERFLOW   4u

static _Alignas(8) u64 exception_gates[256];

struct table {
	u16 limit;
	const void *base;
} __attribute__((packed));

u64 segment_make(u32 base, u32 limit, u32 access, u32 flags)
{
	u32 low = base << 16 | (limit & 0xffff);
	u32 high = (base & 0xff000000) | flags << 20 | (limit & 0xf0000) | access << 8 | (base >> 16 & 0xff);

	return (u64)high << 32 | low;
}

void gate_set(u32 vector, const char *entry, bool for_programs)
{
	u32 address = (u32)entry;
	u32 high = (address & 0xffff0000) | GATE_INTERRUPT | (for_programs ? GATE_PROGRAMS : 0);

	exception_gates[vector] = (u64)high << 32 | KERNEL_CS << 16 | (address & 0xffff);
}

static bool entry_lean, entry_checked, calls_traced;

static const char *const message_entries[] = {
	[MESSAGE_FORM_FAST] = message_entry,
	[MESSAGE_FORM_APART] = message_entry_apart,
	[MESSAGE_FORM_LOAD] = message_entry_loading,
	[MESSAGE_FORM_QUEUE] = message_entry_queueing,
	[MESSAGE_FORM_CALLS] = message_entry_calls,
	[MESSAGE_FORM_MEMORY] = message_entry_memory,
};

void calls_bind(void)
{
	const char *loaded = calls_traced ? syscall_traced_loaded :
			     entry_lean ? syscall_lean_loaded : syscall_full_loaded;
	const char *checked = calls_traced ? syscall_traced_checked :
			      entry_lean ? syscall_lean_checked : syscall_full_checked;

	if (messages_direct() && entry_lean && entry_checked && !calls_traced)
		checked = message_entries[message_form];
	gate_set(TRAP_SYSCALL, entry_checked ? checked : loaded, true);
}

static void bind_all(void)
{
	const char *exceptions = entry_checked ? exception_vectors_checked : exception_vectors_loaded;
	const char *interrupts = entry_checked ? interrupt_vectors_checked : interrupt_vectors_loaded;

	for (u32 n = 0; n < 32; n++)
		gate_set(n, exceptions + 16 * n, n == VECTOR_BREAKPOINT || n == VECTOR_OVERFLOW);
	for (u32 n = 0; n < 16; n++)
		gate_set(ARCH_IRQ_VECTOR + n, interrupts + 16 * n, false);
	apic_gates_set(entry_checked);
	calls_bind();
}

void entry_bind_lean(bool lean)
{
	entry_lean = lean;
	calls_bind();
}

void entry_bind_checked(bool checked)
{
	entry_checked = checked;
	bind_all();
}

/* Another processor may not take an exception by a gate that is half written. */
void arch_trace_syscalls(bool on)
{
	if (calls_traced == on)
		return;
	calls_traced = on;
	cpus_hold();
	calls_bind();
	cpus_release();
}

static void segments_fill(struct cpu_state *cpu)
{
	u32 memory = SEGMENT_PRESENT | SEGMENT_MEMORY | SEGMENT_WRITABLE | SEGMENT_ACCESSED;
	u32 flags = SEGMENT_PAGES | SEGMENT_32BIT;

	cpu->gdt[KERNEL_CS >> 3] = segment_make(0, 0xfffff, memory | SEGMENT_CODE, flags);
	cpu->gdt[KERNEL_DS >> 3] = segment_make(0, 0xfffff, memory, flags);
	cpu->gdt[USER_CS >> 3] = segment_make(0, 0xfffff, memory | SEGMENT_CODE | SEGMENT_PROGRAMS, flags);
	cpu->gdt[USER_DS >> 3] = segment_make(0, 0xfffff, memory | SEGMENT_PROGRAMS, flags);
	cpu->tss = (struct tss){ .ss0 = KERNEL_DS, .io_map = sizeof(struct tss) };
	cpu->gdt[SEGMENT_TSS] = segment_make((u32)&cpu->tss, sizeof(struct tss) - 1,
					     SEGMENT_PRESENT | SEGMENT_TSS_FREE, 0);
}

/* Loads this processor's own tables. */
void descriptors_load(void)
{
	struct cpu_state *cpu = &this_cpu()->arch;
	struct table segments = { sizeof(cpu->gdt) - 1, cpu->gdt };
	struct table exceptions = { sizeof(exception_gates) - 1, exception_gates };

	_Static_assert(offsetof(struct tss, io_map) == 102, "the processor's layout");
	if (!exception_gates[0])
		bind_all();
	segments_fill(cpu);
	__asm__ volatile("lgdt %0; lidt %1; ljmp %2, $1f; 1:" : : "m"(segments), "m"(exceptions), "i"(KERNEL_CS));
	__asm__ volatile("movl %0, %%ss; movl %1, %%ds; movl %1, %%es" : : "r"(KERNEL_DS), "r"(USER_DS) : "memory");
	__asm__ volatile("movl %0, %%fs; movl %0, %%gs; lldt %w0; ltr %w1" : : "r"(0), "r"(SEGMENT_TSS << 3) : "memory");
}
