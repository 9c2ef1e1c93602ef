/* The oldest calls with user and group numbers, which have 16 bits: programs make them by their numbers. */
#include <errno.h>
#include <lib.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>

#define SHORT_NONE 0xffffu	/* as -1 in 32 bits: none, or unchanged */
#define SHORT_OVERFLOW 65534u	/* given for a number that does not fit */

static u32 widen_id(u32 id)
{
	return (u16)id == SHORT_NONE ? ~0u : (u16)id;
}

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

long sys_setuid16(u32 uid)
{
	return sys_setuid(widen_id(uid));
}

long sys_setgid16(u32 gid)
{
	return sys_setgid(widen_id(gid));
}

long sys_setreuid16(u32 uid, u32 euid)
{
	return sys_setreuid(widen_id(uid), widen_id(euid));
}

long sys_setregid16(u32 gid, u32 egid)
{
	return sys_setregid(widen_id(gid), widen_id(egid));
}

long sys_setresuid16(u32 uid, u32 euid, u32 suid)
{
	return sys_setresuid(widen_id(uid), widen_id(euid), widen_id(suid));
}

long sys_setresgid16(u32 gid, u32 egid, u32 sgid)
{
	return sys_setresgid(widen_id(gid), widen_id(egid), widen_id(sgid));
}

long sys_setfsuid16(u32 uid)
{
	return sys_setfsuid(widen_id(uid));
}

long sys_setfsgid16(u32 gid)
{
	return sys_setfsgid(widen_id(gid));
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

long sys_getgroups16(int count, u16 *groups)
{
	const struct credentials *cred = &current->cred;
	u16 list[NGROUPS_MAX];

	if (count < 0 || (count && (u32)count < cred->group_count))
		return -EINVAL;
	for (u32 i = 0; i < cred->group_count; i++)
		list[i] = shorten_id(cred->groups[i]);
	if (count && copy_to_user(groups, list, cred->group_count * sizeof(list[0])))
		return -EFAULT;
	return (long)cred->group_count;
}

long sys_setgroups16(int count, const u16 *groups)
{
	u16 list[NGROUPS_MAX];
	u32 wide_list[NGROUPS_MAX];

	if (!capable())
		return -EPERM;
	if (count < 0 || count > NGROUPS_MAX)
		return -EINVAL;
	if (copy_from_user(list, groups, (u32)count * sizeof(list[0])))
		return -EFAULT;
	for (int i = 0; i < count; i++)
		wide_list[i] = list[i];
	groups_replace(wide_list, (u32)count);
	return 0;
}

long sys_chown16(const char *path, u32 uid, u32 gid)
{
	return sys_chown(path, widen_id(uid), widen_id(gid));
}

long sys_lchown16(const char *path, u32 uid, u32 gid)
{
	return sys_lchown(path, widen_id(uid), widen_id(gid));
}

long sys_fchown16(int fd, u32 uid, u32 gid)
{
	return sys_fchown(fd, widen_id(uid), widen_id(gid));
}
