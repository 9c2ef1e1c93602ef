/* Who may do what with an inode, and the times that doing it leaves behind. */
#include "internal.h"

#include <err.h>
#include <lib.h>
#include <task.h>
#include <time.h>

/* 0 or -EACCES. The superuser may do all but execute a file that nobody may execute. */
int inode_permission(const struct inode *i, unsigned may)
{
	u32 bits = i->mode;

	if (current->cred.fsuid == 0) {
		if (may & MAY_EXEC && !S_ISDIR(i->mode) && !(bits & 0111))
			return -EACCES;
		return 0;
	}
	if (current->cred.fsuid == i->uid)
		bits >>= 6;
	else if (in_group(i->gid))
		bits >>= 3;
	return (bits & may) == may ? 0 : -EACCES;
}

bool may_change(const struct inode *i)
{
	return current->cred.fsuid == i->uid || capable();
}

/*
 * The time of day. The second is remembered with its start, so that only the
 * first call in a second divides.
 */
struct file_time file_time_now(void)
{
	static u64 start;
	static s64 second;
	u64 now = time_real_ns();

	if (now < start || now - start >= NSEC_PER_SEC) {
		second = (s64)(now / NSEC_PER_SEC);
		start = (u64)second * NSEC_PER_SEC;
	}
	return (struct file_time){ .sec = second, .nsec = (u32)(now - start) };
}

static bool not_after(const struct file_time *a, const struct file_time *b)
{
	return a->sec < b->sec || (a->sec == b->sec && a->nsec <= b->nsec);
}

/* Reading updates atime only if it is not later than mtime or ctime ("relatime"), as Linux mounts by default. */
void inode_touch(struct inode *i, bool modified)
{
	if (modified)
		i->mtime = i->ctime = file_time_now();
	else if (not_after(&i->atime, &i->mtime) || not_after(&i->atime, &i->ctime))
		i->atime = file_time_now();
}

void inode_drop_privileges(struct inode *i)
{
	if (!(i->mode & (S_ISUID | S_ISGID)) || !S_ISREG(i->mode) || capable())
		return;
	i->mode &= ~(u32)S_ISUID;
	if (i->mode & 0010)
		i->mode &= ~(u32)S_ISGID;
}
