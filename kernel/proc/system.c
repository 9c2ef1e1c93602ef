/* Facts and settings of the system: uname, sysinfo, host name, prctl, reboot, getrandom. */
#include <abi/elf_machine.h>
#include <abi/system.h>
#include <arch.h>
#include <errno.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <uname.h>
#include <window.h>

#include "../task/internal.h"

enum { UTS_NODE = 1, UTS_DOMAIN = 5 };

/* The release is that of the supported ABI: C libraries refuse to run on an older one. */
struct utsname uts = { { "Linux", "pagewalk", "6.1.0", "#1 pagewalk", ABI_MACHINE, "(none)" } };

long sys_uname(struct utsname *user)
{
	return copy_to_user(user, &uts, sizeof(uts));
}

long sys_olduname(struct oldutsname *user)
{
	return copy_to_user(user, &uts, sizeof(*user));
}

long sys_oldolduname(struct oldoldutsname *user)
{
	struct oldoldutsname result = { 0 };

	for (u32 i = 0; i < ARRAY_SIZE(result.field); i++)
		strlcpy(result.field[i], uts.field[i], UTS_OLD_FIELD);
	return copy_to_user(user, &result, sizeof(result));
}

static long task_set_name(int field, const char *name, int size)
{
	char text[UTS_FIELD] = { 0 };

	if (!capable())
		return -EPERM;
	if (size < 0 || (u32)size >= UTS_FIELD)
		return -EINVAL;
	if (copy_from_user(text, name, (size_t)size))
		return -EFAULT;
	memcpy(uts.field[field], text, UTS_FIELD);
	return 0;
}

long sys_sethostname(const char *name, int size)
{
	return task_set_name(UTS_NODE, name, size);
}

long sys_setdomainname(const char *name, int size)
{
	return task_set_name(UTS_DOMAIN, name, size);
}

long sys_sysinfo(struct sysinfo *user)
{
	struct frame_statistics frames;
	struct sysinfo info = { 0 };

	frame_statistics(&frames);
	info.uptime = (s32)(time_now_ns() / NSEC_PER_SEC);
	info.total_ram = (frames.total - frames.use[FRAME_RESERVED]) * PAGE_SIZE;
	info.free_ram = frames.use[FRAME_FREE] * PAGE_SIZE;
	info.processes = (u16)task_count;
	info.unit = 1;
	return copy_to_user(user, &info, sizeof(info));
}

/* Only the standard personality is supported. */
long sys_personality(u32 persona)
{
	return persona == 0 || persona == PERSONALITY_QUERY ? 0 : -EINVAL;
}

static long host_name_from_user(uaddr_t address)
{
	char name[TASK_NAME_SIZE];
	long length = strncpy_from_user(name, (const char *)address, sizeof(name));

	if (length == -EFAULT)
		return -EFAULT;
	name[sizeof(name) - 1] = 0;
	memset(current->name, 0, sizeof(current->name));
	strlcpy(current->name, name, sizeof(current->name));
	return 0;
}

long sys_prctl(int option, uaddr_t arg2, uaddr_t arg3, uaddr_t arg4, uaddr_t arg5)
{
	switch (option) {
	case PR_SET_PDEATHSIG:
		if (arg2 > NSIG)
			return -EINVAL;
		current->death_signal = arg2;
		return 0;
	case PR_GET_PDEATHSIG:
		return put_user(current->death_signal, (u32 *)arg2);
	case PR_GET_DUMPABLE:
		return current->mm->program.dumpable;
	case PR_SET_DUMPABLE:
		if (arg2 > 1)
			return -EINVAL;
		current->mm->program.dumpable = arg2;
		return 0;
	case PR_SET_NAME:
		return host_name_from_user(arg2);
	case PR_GET_NAME:
		return copy_to_user((void *)arg2, current->name, sizeof(current->name));
	case PR_GET_ENDIAN:
		return put_user(0u, (u32 *)arg2);       /* big-endian */
	case PR_GET_TIMERSLACK:
		return (long)MIN(current->timer_slack, 0x7fffffffu);
	case PR_SET_TIMERSLACK:
		current->timer_slack = arg2 ? arg2 : current->default_slack;
		return 0;
	case PR_SET_CHILD_SUBREAPER:
		subreapers += (arg2 != 0) - (u32)current->process->subreaper;
		current->process->subreaper = arg2 != 0;
		return 0;
	case PR_GET_CHILD_SUBREAPER:
		return put_user((u32)current->process->subreaper, (u32 *)arg2);
	case PR_SET_NO_NEW_PRIVS:
		if (arg2 != 1 || arg3 || arg4 || arg5)
			return -EINVAL;
		current->process->no_new_privileges = true;
		return 0;
	case PR_GET_NO_NEW_PRIVS:
		return current->process->no_new_privileges;
	default:
		return -EINVAL;
	}
}

static bool is_magic2(int magic)
{
	return magic == 672274793 || magic == 85072278 || magic == 369367448 || magic == 537993216;
}

/* A restart also powers off: only the simulator can start a machine. */
long sys_reboot(int magic1, int magic2, u32 command, uaddr_t argument)
{
	(void)argument;
	if (!capable())
		return -EPERM;
	if (magic1 != REBOOT_MAGIC1 || !is_magic2(magic2))
		return -EINVAL;
	switch (command) {
	case REBOOT_RESTART:
	case REBOOT_HALT:
	case REBOOT_POWER_OFF:
		power_off(0);
	case REBOOT_CAD_ON:
	case REBOOT_CAD_OFF:
		return 0;
	default:
		return -EINVAL;
	}
}

long sys_getrandom(void *buffer, size_t size, u32 flags)
{
	u8 bytes[RANDOM_PIECE];
	size_t done = 0;

	if ((flags & ~(GRND_NONBLOCK | GRND_RANDOM | GRND_INSECURE)) ||
	    (flags & (GRND_RANDOM | GRND_INSECURE)) == (GRND_RANDOM | GRND_INSECURE))
		return -EINVAL;
	size = MIN(size, 0x7fffffffu);
	while (done < size) {
		size_t n = MIN(size - done, sizeof(bytes));

		random_bytes(bytes, n);
		if (copy_to_user((u8 *)buffer + done, bytes, n))
			return done ? (long)done : -EFAULT;
		done += n;
		if (done == size)
			break;
		preemption_point();
		if (signal_pending())
			break;
	}
	return (long)done;
}
