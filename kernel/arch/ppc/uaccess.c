/* Memory of the running program: every pointer is checked to lie in user space before it is used. */
#include <arch.h>
#include <lib.h>
#include <mm.h>
#include <uaccess.h>

#include "internal.h"

bool user_range_ok(const void *user, size_t n)
{
	return n <= USER_END && (u32)user <= USER_END - n;
}

CAUSE(copy) size_t copy_from_user_partial(void *to, const void *user, size_t n)
{
	return user_range_ok(user, n) ? n - user_copy(to, user, n) : 0;
}

CAUSE(copy) size_t copy_to_user_partial(void *user, const void *from, size_t n)
{
	return user_range_ok(user, n) ? n - user_copy(user, from, n) : 0;
}

CAUSE(copy) int copy_from_user(void *to, const void *user, size_t n)
{
	return user_range_ok(user, n) && user_copy(to, user, n) == 0 ? 0 : -EFAULT;
}

CAUSE(copy) int copy_to_user(void *user, const void *from, size_t n)
{
	return user_range_ok(user, n) && user_copy(user, from, n) == 0 ? 0 : -EFAULT;
}

CAUSE(copy) size_t copy_in_user(void *to, const void *from, size_t n)
{
	return n - user_copy(to, from, n);
}

int clear_user(void *user, size_t n)
{
	return user_range_ok(user, n) && user_clear(user, n) == 0 ? 0 : -EFAULT;
}

/* How far a string may go before it leaves user space. */
static u32 string_room(const char *user, size_t n)
{
	return (u32)user < USER_END ? MIN((u32)n, USER_END - (u32)user) : 0;
}

/* What a walk over a string found, as the callers' contract says it. */
static long string_result(long length, u32 room, size_t n)
{
	if (length < 0 || (length == (long)room && room < n))
		return -EFAULT;
	return length == (long)n ? -ENAMETOOLONG : length;
}

long strncpy_from_user(char *to, const char *user, size_t n)
{
	u32 room = string_room(user, n);

	return string_result(user_string(to, user, room), room, n);
}

long strnlen_user(const char *user, size_t max)
{
	u32 room = string_room(user, max);

	return string_result(user_string_length(user, room), room, max);
}

int user_cmpxchg(u32 *user, u32 expected, u32 wanted, u32 *seen)
{
	if (!user_range_ok(user, 4) || (u32)user % 4)
		return -EFAULT;
	return user_exchange(user, expected, wanted, seen) ? -EFAULT : 0;
}
