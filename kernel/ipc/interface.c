/* Requests about network devices (netdevice(7)). There is one, the loopback, and nothing of it can be changed. */
#include <abi/ioctl.h>
#include <abi/netlink.h>
#include <lib.h>
#include <task.h>
#include <uaccess.h>

#include "socket.h"

#define NAME_SIZE 16u
#define NETMASK 0xff000000u
#define FIRST_REQUEST 0x8910u   /* the range of the requests about devices */
#define LAST_REQUEST 0x89bfu

/* struct ifreq and struct ifconf of a 32-bit program (uapi linux/if.h). */
struct interface_request {
	char name[NAME_SIZE];
	union {
		struct sockaddr_in address;
		s32 number;
		s16 flags;
		u16 family;
		u8 bytes[16];
	};
};

struct interface_list {
	s32 size;       /* bytes at `requests` */
	u32 requests;
};

static struct sockaddr_in loopback_name(u32 address)
{
	return (struct sockaddr_in){ .family = AF_INET, .address = network32(address) };
}

/* SIOCGIFCONF: the addresses of all devices; if the program gives no buffer, only their size. */
static long list_interfaces(struct interface_list *user)
{
	struct interface_request one = { .name = "lo" };
	struct interface_list list;

	if (copy_from_user(&list, user, sizeof(list)))
		return -EFAULT;
	one.address = loopback_name(INADDR_LOOPBACK);
	if (!list.requests) {
		list.size = sizeof(one);
	} else if (list.size < (s32)sizeof(one)) {
		list.size = 0;
	} else {
		if (copy_to_user((void *)(uintptr_t)list.requests, &one, sizeof(one)))
			return -EFAULT;
		list.size = sizeof(one);
	}
	return copy_to_user(user, &list, sizeof(list)) ? -EFAULT : 0;
}

/* Addresses are a matter of Internet sockets. */
static long give_address(const struct socket *socket, unsigned command, struct interface_request *r)
{
	if (socket->family != AF_INET)
		return -ENOTTY;
	r->address = loopback_name(command == SIOCGIFNETMASK ? NETMASK :
				   command == SIOCGIFBRDADDR ? INADDR_ANY : INADDR_LOOPBACK);
	return 0;
}

static long describe_device(const struct socket *socket, unsigned command, struct interface_request *r)
{
	switch (command) {
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
	case SIOCGIFBRDADDR:
	case SIOCGIFNETMASK:
		return give_address(socket, command, r);
	case SIOCGIFFLAGS:
		r->flags = (s16)(IFF_LOOPBACK_UP & 0xffff);
		return 0;
	case SIOCGIFMETRIC:
		r->number = 0;
		return 0;
	case SIOCGIFMTU:
		r->number = LOOPBACK_MTU;
		return 0;
	case SIOCGIFINDEX:
		r->number = LOOPBACK_INDEX;
		return 0;
	case SIOCGIFTXQLEN:
		r->number = LOOPBACK_QUEUE;
		return 0;
	case SIOCGIFHWADDR:
		memset(r->bytes, 0, sizeof(r->bytes));
		r->family = ARPHRD_LOOPBACK;
		return 0;
	case SIOCGIFMAP:
		memset(r->bytes, 0, sizeof(r->bytes));
		return 0;
	}
	return -ENOTTY;
}

static bool is_change(unsigned command)
{
	switch (command - 1) {
	case SIOCGIFFLAGS:
	case SIOCGIFADDR:
	case SIOCGIFDSTADDR:
	case SIOCGIFBRDADDR:
	case SIOCGIFNETMASK:
	case SIOCGIFMETRIC:
	case SIOCGIFMTU:
	case SIOCGIFTXQLEN:
	case SIOCGIFMAP:
		return true;
	}
	return false;
}

long interface_ioctl(const struct socket *socket, unsigned command, void *user)
{
	struct interface_request r;
	long error;

	if (command < FIRST_REQUEST || command > LAST_REQUEST)
		return -ENOTTY;
	if (command == SIOCGIFCONF)
		return list_interfaces(user);
	if (copy_from_user(&r, user, sizeof(r)))
		return -EFAULT;
	r.name[NAME_SIZE - 1] = 0;
	if (command == SIOCGIFNAME) {
		if (r.number != LOOPBACK_INDEX)
			return -ENODEV;
		memcpy(r.name, (const char[NAME_SIZE]){ "lo" }, sizeof(r.name));
		return copy_to_user(user, &r, sizeof(r)) ? -EFAULT : 0;
	}
	if (is_change(command))
		return capable() ? -EOPNOTSUPP : -EPERM;
	error = strcmp(r.name, "lo") ? -ENODEV : describe_device(socket, command, &r);
	if (error)
		return error;
	return copy_to_user(user, &r, sizeof(r)) ? -EFAULT : 0;
}
