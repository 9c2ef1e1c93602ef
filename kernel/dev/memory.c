/* The devices without hardware: null, zero, full, random. */
#include <frame.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#include "devices.h"

static long null_read(struct file *file, struct iter *it, u64 *position)
{
	(void)file;
	(void)it;
	(void)position;
	return 0;
}

static long null_write(struct file *file, struct iter *it, u64 *position)
{
	(void)file;
	(void)position;
	return (long)it->left;
}

/* Called between two pieces; true: a signal ends the call early. */
static bool transfer_interrupted(void)
{
	preemption_point();
	return signal_pending();
}

static long zero_read(struct file *file, struct iter *it, u64 *position)
{
	long done = 0;

	(void)file;
	(void)position;
	while (it->left) {
		long n = iter_zero(it, PAGE_SIZE);

		if (n < 0)
			return done ? done : n;
		done += n;
		if (it->left && transfer_interrupted())
			break;
	}
	return done;
}

static long full_write(struct file *file, struct iter *it, u64 *position)
{
	(void)file;
	(void)it;
	(void)position;
	return -ENOSPC;
}

static long random_read(struct file *file, struct iter *it, u64 *position)
{
	u8 bytes[RANDOM_PIECE];
	long done = 0;

	(void)file;
	(void)position;
	while (it->left) {
		long n;

		random_bytes(bytes, sizeof(bytes));
		n = iter_write(it, bytes, sizeof(bytes));
		if (n < 0)
			return done ? done : n;
		done += n;
		if (it->left && transfer_interrupted())
			break;
	}
	return done;
}

static s64 no_seek(struct file *file, s64 offset, int whence)
{
	(void)file;
	(void)offset;
	(void)whence;
	return 0;
}

static int zero_mmap(struct file *file, struct file_map *map)
{
	(void)file;
	map->kind = MAP_KIND_ZERO;
	return 0;
}

const struct file_ops null_ops = { .read = null_read, .write = null_write, .seek = no_seek };
const struct file_ops zero_ops = { .read = zero_read, .write = null_write, .seek = no_seek, .mmap = zero_mmap };
const struct file_ops full_ops = { .read = zero_read, .write = full_write, .seek = no_seek };
const struct file_ops random_ops = { .read = random_read, .write = null_write, .seek = no_seek };
