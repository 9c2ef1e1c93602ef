/* Copying to and from the running program: every pointer is checked to lie in user space before it is used. */
#include <arch.h>
#include <lib.h>
#include <mm.h>
#include <pagetable.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

/*
 * Stores to user memory on a processor whose kernel mode ignores read-only pages (ARCH_KERNEL_OBEYS_READ_ONLY is 0):
 * page by page, through the kernel's mapping of a frame that the program may write. No other task runs between the
 * check and the store. from: kernel memory, or NULL for zeros. Returns the bytes stored.
 */
static size_t store_by_frames(void *user, const void *from, size_t n)
{
	size_t done = 0;

	while (done < n) {
		uaddr_t address = (uaddr_t)user + done;
		u32 offset = address % PAGE_SIZE;
		size_t part = MIN(n - done, PAGE_SIZE - offset);
		struct frame *frame;

		if (mm_frame(current->mm, address, MM_WRITE, &frame))
			break;
		if (from)
			memcpy((u8 *)frame_kva(frame) + offset, (const u8 *)from + done, part);
		else
			memset((u8 *)frame_kva(frame) + offset, 0, part);
		frame_put(frame);
		done += part;
	}
	return done;
}

CAUSE(copy) static inline size_t user_store(void *user, const void *from, size_t n)
{
	return ARCH_KERNEL_OBEYS_READ_ONLY ? n - user_copy(user, from, n) : store_by_frames(user, from, n);
}

static size_t copy_by_pieces(void *to, const void *from, size_t n)
{
	u8 piece[256];
	size_t done = 0;

	while (done < n) {
		size_t part = MIN(n - done, sizeof(piece));
		size_t got = part - user_copy(piece, (const u8 *)from + done, part);
		size_t stored = store_by_frames((u8 *)to + done, piece, got);

		done += stored;
		if (stored < part)
			break;
	}
	return done;
}

static int exchange_by_frame(u32 *user, u32 expected, u32 wanted, u32 *seen)
{
	struct frame *frame;
	int error = mm_frame(current->mm, (uaddr_t)user, MM_WRITE, &frame);

	if (!error) {
		error = user_exchange((u32 *)((u8 *)frame_kva(frame) + (uaddr_t)user % PAGE_SIZE), expected, wanted,
				      seen);
		frame_put(frame);
	}
	return error;
}

CAUSE(copy) size_t copy_from_user_partial(void *to, const void *user, size_t n)
{
	return user_range_ok(user, n) ? n - user_copy(to, user, n) : 0;
}

CAUSE(copy) size_t copy_to_user_partial(void *user, const void *from, size_t n)
{
	return user_range_ok(user, n) ? user_store(user, from, n) : 0;
}

CAUSE(copy) int copy_from_user(void *to, const void *user, size_t n)
{
	return user_range_ok(user, n) && user_copy(to, user, n) == 0 ? 0 : -EFAULT;
}

CAUSE(copy) int copy_to_user(void *user, const void *from, size_t n)
{
	return user_range_ok(user, n) && user_store(user, from, n) == n ? 0 : -EFAULT;
}

CAUSE(copy) int copy_from_user_long(void *to, const void *user, size_t n)
{
	for (size_t done = 0, part; done < n; done += part) {
		part = MIN(n - done, (size_t)PAGE_SIZE);
		if (copy_from_user((u8 *)to + done, (const u8 *)user + done, part))
			return -EFAULT;
		interrupt_window();
	}
	return 0;
}

CAUSE(copy) int copy_to_user_long(void *user, const void *from, size_t n)
{
	for (size_t done = 0, part; done < n; done += part) {
		part = MIN(n - done, (size_t)PAGE_SIZE);
		if (copy_to_user((u8 *)user + done, (const u8 *)from + done, part))
			return -EFAULT;
		interrupt_window();
	}
	return 0;
}

CAUSE(copy) size_t copy_in_user(void *to, const void *from, size_t n)
{
	return ARCH_KERNEL_OBEYS_READ_ONLY ? n - user_copy(to, from, n) : copy_by_pieces(to, from, n);
}

size_t clear_user_partial(void *user, size_t n)
{
	if (!user_range_ok(user, n))
		return 0;
	return ARCH_KERNEL_OBEYS_READ_ONLY ? n - user_clear(user, n) : store_by_frames(user, NULL, n);
}

int clear_user(void *user, size_t n)
{
	return clear_user_partial(user, n) == n ? 0 : -EFAULT;
}

/* Bytes that a string may have before it leaves user space, at most n. */
static u32 string_room(const char *user, size_t n)
{
	return (uaddr_t)user < USER_END ? MIN((u32)n, USER_END - (uaddr_t)user) : 0;
}

/* Turns the architecture's result for a string into the result that its callers document. */
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
	if (!user_range_ok(user, 4) || (uaddr_t)user % 4)
		return -EFAULT;
	if (!ARCH_KERNEL_OBEYS_READ_ONLY)
		return exchange_by_frame(user, expected, wanted, seen) ? -EFAULT : 0;
	return user_exchange(user, expected, wanted, seen) ? -EFAULT : 0;
}
