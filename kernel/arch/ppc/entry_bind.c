/* Binding the forms of exception entry. */
#include <arch.h>
#include <arch/entry.h>
#include <arch/image.h>
#include <lib.h>
#include <syscall.h>

static const u32 nop = 0x60000000;

DECLARE_IMAGE(image_syscall_full);
DECLARE_IMAGE(image_syscall_lean);

extern u32 enter[];             /* entry.S */
long sys_unknown(void);

u32 lean_table[LEAN_CALLS];
u64 lean_frames_completed;

static void fill_table(void)
{
	_Static_assert(SYSCALL_COUNT <= LEAN_CALLS, "a system call's number is beyond the lean entry's table");
	for (u32 i = 0; i < LEAN_CALLS; i++)
		lean_table[i] = i < SYSCALL_COUNT ? (u32)syscall_table[i] | (syscall_needs_full_regs[i] != 0) :
						    (u32)sys_unknown;
}

void entry_bind(bool lean)
{
	static u32 branch_to_full;

	if (!branch_to_full) {
		branch_to_full = enter[0];
		fill_table();
	}
	code_write(enter, lean ? &nop : &branch_to_full, 1);
	image_install(0xc00, lean ? &image_syscall_lean : &image_syscall_full);
}
