/* The multiplexed ipc(2), which the C libraries of this ABI use. */
#include <abi/sysv.h>
#include <syscall.h>
#include <uaccess.h>

#include "sysv_calls.h"

/* Version 0 of msgrcv gets its buffer and type through a pointer; later ones have them as arguments. */
static long message_receive(u32 version, int id, size_t room, u32 flags, uaddr_t pointer, uaddr_t fifth)
{
	u32 pair[2] = { pointer, fifth };

	if (version == 0) {
		if (!pointer)
			return -EINVAL;
		if (copy_from_user(pair, (const void *)pointer, sizeof(pair)))
			return -EFAULT;
	}
	return sys_msgrcv(id, (void *)(uaddr_t)pair[0], room, (s32)pair[1], flags);
}

/* Attaches a segment and stores its address where the call's third argument points. */
static long segment_attach(int id, u32 flags, uaddr_t result_at, uaddr_t address)
{
	uaddr_t at;
	long result = shm_attach(id, address, flags, &at);

	if (result)
		return result;
	if (put_user(at, (u32 *)result_at)) {
		sys_shmdt(at);
		return -EFAULT;
	}
	return 0;
}

/* The upper half of the call's number is a version. */
long sys_ipc(u32 call, int first, int second, uaddr_t third, uaddr_t pointer, uaddr_t fifth)
{
	u32 argument;

	switch (call & 0xffff) {
	case SEMOP:
		return sys_semtimedop_by(first, (const void *)pointer, (u32)second, NULL, false);
	case SEMTIMEDOP:
		return sys_semtimedop_by(first, (const void *)pointer, (u32)second, (const void *)fifth, false);
	case SEMGET:
		return sys_semget(first, second, third);
	case SEMCTL:
		/* The union is passed by reference here (on this architecture, not in semctl(2) itself). */
		if (!pointer)
			return -EINVAL;
		if (get_user(argument, (const u32 *)pointer))
			return -EFAULT;
		return sys_semctl(first, second, (int)third, argument);
	case MSGSND:
		return sys_msgsnd(first, (const void *)pointer, (size_t)second, third);
	case MSGRCV:
		return message_receive(call >> 16, first, (size_t)second, third, pointer, fifth);
	case MSGGET:
		return sys_msgget(first, (u32)second);
	case MSGCTL:
		return sys_msgctl(first, second, pointer);
	case SHMAT:
		return segment_attach(first, (u32)second, third, pointer);
	case SHMDT:
		return sys_shmdt(pointer);
	case SHMGET:
		return sys_shmget(first, (size_t)second, third);
	case SHMCTL:
		return sys_shmctl(first, second, pointer);
	}
	return -ENOSYS;
}
