/* Calls that an i386 passes otherwise than a PowerPC: the functions behind them are those of every ABI. */
#include <arch.h>
#include <errno.h>
#include <syscall.h>
#include <uaccess.h>

long sys_old_mmap(const u32 *arguments)
{
	u32 a[6];

	if (copy_from_user(a, arguments, sizeof(a)))
		return -EFAULT;
	return sys_mmap(a[0], a[1], (int)a[2], (int)a[3], (int)a[4], a[5]);
}

long sys_old_select(const u32 *arguments)
{
	u32 a[5];

	if (copy_from_user(a, arguments, sizeof(a)))
		return -EFAULT;
	return sys__newselect((int)a[0], (u32 *)a[1], (u32 *)a[2], (u32 *)a[3], (struct timeval32 *)a[4]);
}

long sys_old_sigsuspend(u32 unused, u32 unused2, u32 mask)
{
	(void)unused;
	(void)unused2;
	return sys_sigsuspend(mask);
}

/* The compiler would pass both words of the offset on the stack, and not the first one in a register. */
long sys_fallocate_words(int fd, int mode, u32 offset_low, u32 offset_high, u32 length_low, u32 length_high)
{
	u64 offset = (u64)offset_high << 32 | offset_low, length = (u64)length_high << 32 | length_low;

	return sys_fallocate(fd, mode, (s64)offset, (s64)length);
}
