/*
 * file.wait: how long a read from the beginning of a regular file waits, as for a disk.
 *
 * none: every file is in memory. <microseconds>: the first read through an open file sleeps so long, before it reads
 * what is in memory: the time in which a disk would seek, turn and transfer. The processor idles or runs others
 * meanwhile. Pages that are mapped, and so programs, do not wait. Forms: fs/ramfs.c.
 */
#include <errno.h>
#include <file.h>
#include <policy.h>
#include <time.h>
#include <wait.h>

#include "../internal.h"

static long (*file_read_now)(struct file *file, struct iter *it, u64 *position);
static u64 file_wait_ns, file_waits;

static long file_read_after(struct file *file, struct iter *it, u64 *position)
{
	const bool never = false;
	long error;

	if (!*position) {
		file_waits++;
		error = sleep_killable(&never, time_now_ns() + file_wait_ns);
		if (error && error != -ETIMEDOUT)
			return error;
	}
	return file_read_now(file, it, position);
}

static int file_wait_apply(const struct policy_setting *to)
{
	if (to->choice && (!to->value || to->value > 1000000))
		return -EINVAL;
	if (!file_read_now)
		file_read_now = ramfs_file_ops.read;
	file_wait_ns = to->value * 1000ull;
	ramfs_file_ops.read = to->choice ? file_read_after : file_read_now;
	return 0;
}

POLICY(file_wait, "file.wait", CHOICES("none", "<microseconds>"), POLICY_ANY, file_wait_apply, "waits", &file_waits);
