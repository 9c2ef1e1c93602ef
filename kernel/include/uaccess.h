/*
 * Access to the running program's memory. A bad pointer gives -EFAULT; a missing page is faulted in, so these
 * functions may sleep.
 */
#ifndef UACCESS_H
#define UACCESS_H
#include <arch/layout.h>
#include <errno.h>
#include <types.h>

int copy_from_user(void *to, const void *user, size_t n);       /* 0 or -EFAULT */
int copy_to_user(void *user, const void *from, size_t n);       /* 0 or -EFAULT */
int clear_user(void *user, size_t n);                           /* 0 or -EFAULT */
/* The same for long copies: a window for interrupts (window.h) after each page. */
int copy_from_user_long(void *to, const void *user, size_t n);
int copy_to_user_long(void *user, const void *from, size_t n);
/* Copy or clear up to n bytes; return their number (n: all). */
size_t copy_from_user_partial(void *to, const void *user, size_t n);
size_t copy_to_user_partial(void *user, const void *from, size_t n);
size_t clear_user_partial(void *user, size_t n);
/*
 * Copies a string with its NUL. Returns its length without the NUL; -EFAULT; -ENAMETOOLONG if the first n bytes have
 * no NUL.
 */
long strncpy_from_user(char *to, const char *user, size_t n);
/* Length without NUL; -EFAULT; -ENAMETOOLONG when longer than max. */
long strnlen_user(const char *user, size_t max);
/* Copies within user space, or from or to an aperture (aperture.h). Checks both ranges and returns the bytes copied. */
size_t copy_in_user(void *to, const void *from, size_t n);
/*
 * Implemented by the architecture, without checks of the range. Copying and clearing return the bytes left undone; a
 * string's length is n if it has no NUL, -1 after a fault; an exchange returns 0, or -1 after a fault.
 */
u32 user_copy(void *to, const void *from, u32 n);
u32 user_clear(void *user, u32 n);
long user_string(char *to, const char *from, u32 n);
long user_string_length(const char *user, u32 max);
int user_exchange(u32 *user, u32 expected, u32 wanted, u32 *seen);
/* Whether [user, user+n) lies in user space; it need not be mapped. */
static inline bool user_range_ok(const void *user, size_t n)
{
	return n <= USER_END && (uaddr_t)user <= USER_END - n;
}

/* One object of 1, 2, 4 or 8 bytes: 0 or -EFAULT. */
#define get_user(value, user) copy_from_user(&(value), (user), sizeof(*(user)))
#define put_user(value, user)                                            \
	({ __typeof__(*(user)) put_value_ = (value);                     \
	   copy_to_user((user), &put_value_, sizeof(put_value_)); })

/*
 * Atomically compares and exchanges a word of user memory: 0 or -EFAULT. *seen == expected: it was exchanged. Otherwise
 * the word had another value, or another processor stored to it meanwhile, perhaps the same value.
 */
int user_cmpxchg(u32 *user, u32 expected, u32 wanted, u32 *seen);

/* The same as copy_to_user() and copy_from_user() for another address space (exec's new stack, /proc/<pid>/cmdline). */
struct mm;
int mm_copy_to(struct mm *mm, uaddr_t address, const void *from, size_t n);
int mm_copy_from(struct mm *mm, void *to, uaddr_t address, size_t n);

#endif
