/* socketcall: the older entry to all socket calls, with the arguments in memory. */
#include <abi/socket.h>
#include <syscall.h>
#include <uaccess.h>

long sys_socketcall(int call, const u32 *user)
{
	static const u8 count[] = { 0, 3, 3, 3, 2, 3, 3, 3, 4, 4, 4, 6, 6, 2, 5, 5, 3, 3, 4, 5, 4 };
	u32 a[6];

	if (call < CALL_SOCKET || call > CALL_SENDMMSG)
		return -EINVAL;
	if (copy_from_user(a, user, count[call] * sizeof(a[0])))
		return -EFAULT;
	switch (call) {
	case CALL_SOCKET:
		return sys_socket((int)a[0], (int)a[1], (int)a[2]);
	case CALL_BIND:
		return sys_bind((int)a[0], (const void *)(uaddr_t)a[1], a[2]);
	case CALL_CONNECT:
		return sys_connect((int)a[0], (const void *)(uaddr_t)a[1], a[2]);
	case CALL_LISTEN:
		return sys_listen((int)a[0], (int)a[1]);
	case CALL_ACCEPT:
		return sys_accept4((int)a[0], (void *)(uaddr_t)a[1], (u32 *)(uaddr_t)a[2], 0);
	case CALL_GETSOCKNAME:
		return sys_getsockname((int)a[0], (void *)(uaddr_t)a[1], (u32 *)(uaddr_t)a[2]);
	case CALL_GETPEERNAME:
		return sys_getpeername((int)a[0], (void *)(uaddr_t)a[1], (u32 *)(uaddr_t)a[2]);
	case CALL_SOCKETPAIR:
		return sys_socketpair((int)a[0], (int)a[1], (int)a[2], (s32 *)(uaddr_t)a[3]);
	case CALL_SEND:
		return sys_sendto((int)a[0], (const void *)(uaddr_t)a[1], a[2], a[3], NULL, 0);
	case CALL_RECV:
		return sys_recvfrom((int)a[0], (void *)(uaddr_t)a[1], a[2], a[3], NULL, NULL);
	case CALL_SENDTO:
		return sys_sendto((int)a[0], (const void *)(uaddr_t)a[1], a[2], a[3], (const void *)(uaddr_t)a[4],
				  a[5]);
	case CALL_RECVFROM:
		return sys_recvfrom((int)a[0], (void *)(uaddr_t)a[1], a[2], a[3], (void *)(uaddr_t)a[4],
				    (u32 *)(uaddr_t)a[5]);
	case CALL_SHUTDOWN:
		return sys_shutdown((int)a[0], (int)a[1]);
	case CALL_SETSOCKOPT:
		return sys_setsockopt((int)a[0], (int)a[1], (int)a[2], (const void *)(uaddr_t)a[3], a[4]);
	case CALL_GETSOCKOPT:
		return sys_getsockopt((int)a[0], (int)a[1], (int)a[2], (void *)(uaddr_t)a[3], (u32 *)(uaddr_t)a[4]);
	case CALL_SENDMSG:
		return sys_sendmsg((int)a[0], (const void *)(uaddr_t)a[1], a[2]);
	case CALL_RECVMSG:
		return sys_recvmsg((int)a[0], (void *)(uaddr_t)a[1], a[2]);
	case CALL_RECVMMSG:
		return sys_recvmmsg_by((int)a[0], (void *)(uaddr_t)a[1], a[2], a[3], (void *)(uaddr_t)a[4], false);
	case CALL_SENDMMSG:
		return sys_sendmmsg((int)a[0], (void *)(uaddr_t)a[1], a[2], a[3]);
	default:
		return sys_accept4((int)a[0], (void *)(uaddr_t)a[1], (u32 *)(uaddr_t)a[2], a[3]);
	}
}
