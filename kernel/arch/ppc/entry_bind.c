/* Binding the forms of exception entry. */
#include <arch.h>
#include <arch/entry.h>
#include <arch/image.h>
#include <arch/message.h>
#include <smp.h>
#include <syscall.h>

static const u32 nop_instruction = 0x60000000, blr_instruction = 0x4e800020;

DECLARE_IMAGE(image_syscall_full);
DECLARE_IMAGE(image_syscall_traced);
DECLARE_IMAGE(image_syscall_lean);
DECLARE_IMAGE(image_syscall_lean_preload);
DECLARE_IMAGE(image_syscall_messages);
DECLARE_IMAGE(image_decrementer);
DECLARE_IMAGE(image_decrementer_preload);

extern u32 enter[], enter_with_task[];  /* entry.S */
extern const u32 syscall_whole[], syscall_words[], syscall_message[];
long sys_unknown(void);

u32 lean_table[LEAN_CALLS];
u64 lean_frames_completed;

static void fill_table(void)
{
	_Static_assert(SYSCALL_COUNT <= LEAN_CALLS, "a system call's number is beyond the lean entry's table");
	for (u32 i = 0; i < LEAN_CALLS; i++)
		lean_table[i] = i >= SYSCALL_COUNT ? (u32)sys_unknown :
				syscall_needs_full_regs[i] ? (u32)syscall_whole :
				syscall_returns_words[i] ? (u32)syscall_words : (u32)syscall_table[i];
}

static bool lean_entry, frame_preloading, calls_traced, messages_at_gate;

static void install_syscall(void)
{
	image_install(0xc00, calls_traced ? &image_syscall_traced :
			     !lean_entry ? &image_syscall_full :
			     frame_preloading ? &image_syscall_lean_preload :
			     messages_at_gate ? &image_syscall_messages : &image_syscall_lean);
}

void entry_bind_messages(bool on)
{
	const u32 *way = on ? syscall_message : syscall_words;

	if (messages_at_gate == on)
		return;
	messages_at_gate = on;
	lean_table[SYSCALL_IPC_CALL] = lean_table[SYSCALL_IPC_REPLY_WAIT] = (u32)way;
	install_syscall();
}

static void bind_syscall(void)
{
	message_allow(MESSAGE_LEAN, lean_entry && !frame_preloading && !calls_traced && !SEVERAL);
	install_syscall();
}

void entry_preload(bool on)
{
	frame_preloading = on;
	bind_syscall();
	external_bind(on);
	image_install(0x900, on ? &image_decrementer_preload : &image_decrementer);
}

void arch_trace_syscalls(bool on)
{
	if (calls_traced != on) {
		calls_traced = on;
		bind_syscall();
	}
}

void switch_preload_bind(bool on)
{
	code_write((u32 *)switch_preload, on ? &nop_instruction : &blr_instruction, 1);
}

void entry_bind(bool lean)
{
	static u32 branch_to_full, with_task_to_full;

	if (!branch_to_full) {
		branch_to_full = enter[0];
		with_task_to_full = enter_with_task[0];
		fill_table();
	}
	code_write(enter, lean ? &nop_instruction : &branch_to_full, 1);
	code_write(enter_with_task, lean ? &nop_instruction : &with_task_to_full, 1);
	lean_entry = lean;
	bind_syscall();
}
