/* Copying between kernel objects and the memory that a call names. */
#include <file.h>
#include <frame.h>
#include <lib.h>
#include <smp.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

/* A call moves at most TRANSFER_MAX bytes, even if the pieces are longer. */
int iter_init_vector(struct iter *it, const struct iovec *vector, size_t count, bool kernel)
{
	size_t sum = 0;

	for (size_t i = 0; i < count; i++) {
		if (vector[i].len > 0x7fffffffu)
			return -EINVAL;
		sum += MIN(vector[i].len, TRANSFER_MAX - sum);
	}
	it->piece = vector;
	it->pieces = count;
	it->offset = 0;
	it->left = sum;
	it->unwindowed = 0;
	it->kernel = kernel;
	return 0;
}

enum way { OUT, IN, ZERO };

static size_t iter_move(const struct iter *it, void *place, void *object, size_t n, enum way way)
{
	if (it->kernel) {
		if (way == OUT)
			memcpy(place, object, n);
		else if (way == IN)
			memcpy(object, place, n);
		else
			memset(place, 0, n);
		return n;
	}
	if (way == OUT)
		return copy_to_user_partial(place, object, n);
	if (way == IN)
		return copy_from_user_partial(object, place, n);
	return clear_user_partial(place, n);
}

void *iter_place(struct iter *it, size_t *part)
{
	while (it->offset == it->piece->len) {
		it->piece++;
		it->pieces--;
		it->offset = 0;
	}
	*part = it->piece->len - it->offset;
	return (char *)it->piece->base + it->offset;
}

void iter_advance(struct iter *it, size_t n)
{
	it->offset += n;
	it->left -= n;
}

void iter_rewind(struct iter *it, size_t n)
{
	it->left += n;
	while (n > it->offset) {
		n -= it->offset;
		it->piece--;
		it->pieces++;
		it->offset = it->piece->len;
	}
	it->offset -= n;
}

/* Opens an interrupt window after each page; callers are prepared for it, since a fault may sleep here. */
static long iter_transfer(struct iter *it, void *object, size_t n, enum way way)
{
	size_t done = 0;

	n = MIN(n, it->left);
	while (done < n) {
		size_t part, moved;
		void *place = iter_place(it, &part);

		if (it->unwindowed >= PAGE_SIZE) {
			it->unwindowed = 0;
			interrupt_window();
		}
		part = MIN(MIN(part, n - done), (size_t)PAGE_SIZE);
		moved = iter_move(it, place, (char *)object + (way == ZERO ? 0 : done), part, way);
		iter_advance(it, moved);
		it->unwindowed += moved;
		done += moved;
		if (moved < part)
			return done ? (long)done : -EFAULT;
	}
	return (long)done;
}

/* Whether n bytes are short: at most a page, of one piece in user space, and no window is due. */
static inline bool iter_is_short(const struct iter *it, size_t n)
{
	return n - 1 < PAGE_SIZE && n <= it->left && n <= it->piece->len - it->offset && it->unwindowed < PAGE_SIZE &&
	       !it->kernel;
}

static inline long iter_moved(struct iter *it, size_t moved)
{
	iter_advance(it, moved);
	it->unwindowed += moved;
	return moved ? (long)moved : -EFAULT;
}

long iter_write(struct iter *it, const void *from, size_t n)
{
	if (!iter_is_short(it, n))
		return iter_transfer(it, (void *)(uintptr_t)from, n, OUT);
	return iter_moved(it, copy_to_user_partial((char *)it->piece->base + it->offset, from, n));
}

long iter_read(struct iter *it, void *to, size_t n)
{
	if (!iter_is_short(it, n))
		return iter_transfer(it, to, n, IN);
	return iter_moved(it, copy_from_user_partial(to, (char *)it->piece->base + it->offset, n));
}

#define APART_LEAST 256u        /* bytes: shorter copies take less time than the lock */

/*
 * Whether a copy of n bytes goes on without the kernel lock, which this lets go. No window opens until it is taken
 * again.
 */
static bool copy_apart(struct iter *it, size_t n)
{
	if (!outside_bound() || n < APART_LEAST)
		return false;
	if (it->unwindowed >= PAGE_SIZE) {
		it->unwindowed = 0;
		interrupt_window();
	}
	if (!iter_is_short(it, n))
		return false;
	kernel_unlock();
	return true;
}

long iter_write_apart(struct iter *it, const void *from, size_t n)
{
	size_t moved;

	if (!copy_apart(it, n))
		return iter_write(it, from, n);
	moved = copy_to_user_partial((char *)it->piece->base + it->offset, from, n);
	kernel_lock();
	return iter_moved(it, moved);
}

long iter_read_apart(struct iter *it, void *to, size_t n)
{
	size_t moved;

	if (!copy_apart(it, n))
		return iter_read(it, to, n);
	moved = copy_from_user_partial(to, (char *)it->piece->base + it->offset, n);
	kernel_lock();
	return iter_moved(it, moved);
}

long iter_zero(struct iter *it, size_t n)
{
	n = MIN(n, it->left);
	if (!iter_is_short(it, n))
		return iter_transfer(it, NULL, n, ZERO);
	return iter_moved(it, clear_user_partial((char *)it->piece->base + it->offset, n));
}

int user_vector_load(struct user_vector *v, const struct iovec *user, size_t count, struct iter *it)
{
	struct iter theirs;
	int error;

	if (count > IOV_MAX)
		return -EINVAL;
	v->count = count;
	v->piece = count > VECTOR_INLINE ? call_alloc(count * sizeof(v->few[0])) : v->few;
	if (!v->piece)
		return -ENOMEM;
	error = copy_from_user(v->piece, user, count * sizeof(v->few[0]));
	if (!error)
		error = iter_init_vector(it ? it : &theirs, v->piece, count, false);
	for (size_t i = 0; it && i < count && !error; i++)
		error = user_range_ok(v->piece[i].base, v->piece[i].len) ? 0 : -EFAULT;
	if (error)
		user_vector_free(v);
	return error;
}

void user_vector_free(struct user_vector *v)
{
	if (v->piece != v->few)
		call_free(v->piece, v->count * sizeof(v->few[0]));
}
