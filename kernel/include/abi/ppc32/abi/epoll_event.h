/* What epoll_wait returns (uapi linux/eventpoll.h). A 64-bit number is aligned to 8 bytes. */
#ifndef ABI_EPOLL_EVENT_H
#define ABI_EPOLL_EVENT_H
#include <types.h>

struct epoll_event {
	u32 events, pad;
	u64 data;
};
_Static_assert(sizeof(struct epoll_event) == 16, "struct epoll_event");

#endif
