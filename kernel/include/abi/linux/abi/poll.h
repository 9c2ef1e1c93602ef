/* Readiness: poll, select, epoll, eventfd (uapi asm-generic/poll.h, linux/eventpoll.h, linux/eventfd.h). */
#ifndef ABI_POLL_H
#define ABI_POLL_H
#include <abi/epoll_event.h>
#include <types.h>

#define POLLIN 0x001u
#define POLLPRI 0x002u
#define POLLOUT 0x004u
#define POLLERR 0x008u
#define POLLHUP 0x010u
#define POLLNVAL 0x020u
#define POLLRDNORM 0x040u
#define POLLRDBAND 0x080u
#define POLLWRNORM 0x100u
#define POLLWRBAND 0x200u
#define POLLRDHUP 0x2000u

struct pollfd {
	s32 fd;
	u16 events, revents;
};

#define EPOLLEXCLUSIVE (1u << 28)
#define EPOLLWAKEUP (1u << 29)
#define EPOLLONESHOT (1u << 30)
#define EPOLLET (1u << 31)

enum { EPOLL_CTL_ADD = 1, EPOLL_CTL_DEL = 2, EPOLL_CTL_MOD = 3 };


#define EFD_SEMAPHORE 1u

#define FD_SETSIZE 1024u

#endif
