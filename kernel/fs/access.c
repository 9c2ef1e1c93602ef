/* Permission to access an inode, and the times that an access sets. */
#include <task.h>
#include <time.h>

#include "internal.h"

/* 0 or -EACCES. The superuser may do everything except execute a file that nobody may execute. */
int inode_permission(const struct inode *inode, unsigned may)
{
	u32 bits = inode->mode;

	if (may & MAY_EXEC && S_ISREG(bits) && filesystem_refuses(inode->fs, MS_NOEXEC))
		return -EACCES;
	if (current->cred.fsuid == 0) {
		if (may & MAY_EXEC && !S_ISDIR(inode->mode) && !(bits & 0111))
			return -EACCES;
		return 0;
	}
	if (current->cred.fsuid == inode->uid)
		bits >>= 6;
	else if (in_group(inode->gid))
		bits >>= 3;
	return (bits & may) == may ? 0 : -EACCES;
}

bool may_change(const struct inode *inode)
{
	return current->cred.fsuid == inode->uid || capable();
}

/* The time of day. It keeps the start of the current second, so that only the first call in a second divides. */
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

/* Reading updates atime only if it is not later than mtime or ctime ("relatime"), Linux's default. */
void inode_touch(struct inode *inode, bool modified)
{
	if (modified)
		inode->mtime = inode->ctime = file_time_now();
	else if (not_after(&inode->atime, &inode->mtime) || not_after(&inode->atime, &inode->ctime))
		inode->atime = file_time_now();
}

void inode_drop_privileges(struct inode *inode)
{
	if (!(inode->mode & (S_ISUID | S_ISGID)) || !S_ISREG(inode->mode) || capable())
		return;
	inode->mode &= ~(u32)S_ISUID;
	if (inode->mode & 0010)
		inode->mode &= ~(u32)S_ISGID;
}
