/* Futexes (uapi linux/futex.h). */
#ifndef ABI_FUTEX_H
#define ABI_FUTEX_H
#include <types.h>

#define FUTEX_WAIT         0
#define FUTEX_WAKE         1
#define FUTEX_REQUEUE      3
#define FUTEX_CMP_REQUEUE  4
#define FUTEX_WAKE_OP      5
#define FUTEX_LOCK_PI      6
#define FUTEX_UNLOCK_PI    7
#define FUTEX_TRYLOCK_PI   8
#define FUTEX_WAIT_BITSET  9
#define FUTEX_WAKE_BITSET  10
#define FUTEX_WAIT_REQUEUE_PI 11
#define FUTEX_CMP_REQUEUE_PI  12
#define FUTEX_LOCK_PI2     13
#define FUTEX_PRIVATE_FLAG   128
#define FUTEX_CLOCK_REALTIME 256
#define FUTEX_ANY_BIT      0xffffffffu

/* The user's robust list: a circular list through the mutexes that the thread holds. */
struct robust_head {
	u32 first;
	s32 futex_offset;       /* of the futex word from a list entry */
	u32 pending;            /* entry of the mutex that the thread is taking or releasing */
};

/* The futex word, of a mutex with an owner: thread number and two flags. */
#define FUTEX_WAITERS    0x80000000u
#define FUTEX_OWNER_DIED 0x40000000u
#define FUTEX_TID_MASK   0x3fffffffu

#endif
