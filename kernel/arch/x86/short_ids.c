/* The oldest calls with user and group numbers, which have 16 bits: programs make them by their numbers. */
#include <err.h>
#include <errno.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#define SHORT_NONE 0xffffu      /* as -1 in 32 bits: none, or unchanged */
#define SHORT_PART     32u      /* groups that are copied at a time */
#define SHORT_OVERFLOW 65534u   /* given for a number that does not fit */

static u16 shorten_id(u32 id)
{
	return id > SHORT_NONE ? SHORT_OVERFLOW : (u16)id;
}

long sys_getuid16(void)
{
	return shorten_id(current->cred.uid);
}

long sys_geteuid16(void)
{
	return shorten_id(current->cred.euid);
}

long sys_getgid16(void)
{
	return shorten_id(current->cred.gid);
}

long sys_getegid16(void)
{
	return shorten_id(current->cred.egid);
}

static long put_three_ids(u32 a, u32 b, u32 c, u16 *user_a, u16 *user_b, u16 *user_c)
{
	if (put_user(shorten_id(a), user_a) || put_user(shorten_id(b), user_b) || put_user(shorten_id(c), user_c))
		return -EFAULT;
	return 0;
}

long sys_getresuid16(u16 *uid, u16 *euid, u16 *suid)
{
	const struct credentials *cred = &current->cred;

	return put_three_ids(cred->uid, cred->euid, cred->suid, uid, euid, suid);
}

long sys_getresgid16(u16 *gid, u16 *egid, u16 *sgid)
{
	const struct credentials *cred = &current->cred;

	return put_three_ids(cred->gid, cred->egid, cred->sgid, gid, egid, sgid);
}

long sys_getgroups16(int count, u16 *user)
{
	const struct groups *groups = current->cred.groups;
	u32 have = group_count(&current->cred);
	u16 part[SHORT_PART];

	if (count < 0 || (count && (u32)count < have))
		return -EINVAL;
	for (u32 at = 0, n; count && at < have; at += n) {
		n = MIN(have - at, SHORT_PART);
		for (u32 i = 0; i < n; i++)
			part[i] = shorten_id(groups->id[at + i]);
		if (copy_to_user(user + at, part, n * sizeof(part[0])))
			return -EFAULT;
	}
	return (long)have;
}

long sys_setgroups16(int count, const u16 *user)
{
	struct groups *groups = groups_to_set(count);
	u16 part[SHORT_PART];

	if (IS_ERR(groups))
		return PTR_ERR(groups);
	for (u32 at = 0, n; at < (u32)count; at += n) {
		n = MIN((u32)count - at, SHORT_PART);
		if (copy_from_user(part, user + at, n * sizeof(part[0]))) {
			groups_put(groups);
			return -EFAULT;
		}
		for (u32 i = 0; i < n; i++)
			groups->id[at + i] = part[i];
	}
	groups_replace(groups);
	return 0;
}
