/* User and group numbers. */
#include <abi/system.h>
#include <arch/message.h>
#include <err.h>
#include <errno.h>
#include <kmalloc.h>
#include <process.h>
#include <syscall.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#include "internal.h"

#define KEEP 0xffffffffu        /* -1: do not change this one */

bool capable(void)
{
	return current->cred.euid == 0;
}

bool is_same_user(const struct task *task)
{
	const struct credentials *mine = &current->cred, *theirs = &task->cred;

	return mine->uid == theirs->uid && mine->uid == theirs->euid && mine->uid == theirs->suid &&
	       mine->gid == theirs->gid && mine->gid == theirs->egid && mine->gid == theirs->sgid;
}

bool may_trace(const struct task *task)
{
	if (capable() || task->process == current->process)
		return true;
	/* A task that is ending still has files after it has left its address space. */
	if (task->mm ? !task->mm->program.dumpable : task->left_undumpable)
		return false;
	return is_same_user(task);
}

static bool in_set(u32 gid)
{
	const struct groups *groups = current->cred.groups;
	u32 low = 0, high = group_count(&current->cred);

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (groups->id[middle] == gid)
			return true;
		if (groups->id[middle] < gid)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

bool in_group(u32 gid)
{
	return current->cred.fsgid == gid || in_set(gid);
}

long sys_getuid(void)
{
	return (long)current->cred.uid;
}

long sys_geteuid(void)
{
	return (long)current->cred.euid;
}

long sys_getgid(void)
{
	return (long)current->cred.gid;
}

long sys_getegid(void)
{
	return (long)current->cred.egid;
}

static bool is_my_uid(u32 uid)
{
	const struct credentials *cred = &current->cred;

	return uid == KEEP || uid == cred->uid || uid == cred->euid || uid == cred->suid;
}

static bool is_my_gid(u32 gid)
{
	const struct credentials *cred = &current->cred;

	return gid == KEEP || gid == cred->gid || gid == cred->egid || gid == cred->sgid;
}

static u32 or_keep(u32 new, u32 old)
{
	return new == KEEP ? old : new;
}

/*
 * Sets an ID that decides permissions. A process that changes it may know secrets of either user: no core file, and no
 * tracer of that user.
 */
static void act_as(u32 *id, u32 new)
{
	message_forget();
	if (*id == new)
		return;
	*id = new;
	current->mm->program.dumpable = false;
}

/* Succeeds even if the user has too many tasks, because many programs ignore the error: execve fails instead. */
static void set_real_uid(u32 uid)
{
	message_forget();
	if (current->cred.uid == uid)
		return;
	current->cred.uid = uid;
	current->over_limit = tasks_over_limit(0);
}

long sys_setresuid(u32 uid, u32 euid, u32 suid)
{
	struct credentials *cred = &current->cred;

	if (!capable() && !(is_my_uid(uid) && is_my_uid(euid) && is_my_uid(suid)))
		return -EPERM;
	set_real_uid(or_keep(uid, cred->uid));
	act_as(&cred->euid, or_keep(euid, cred->euid));
	act_as(&cred->fsuid, cred->euid);
	cred->suid = or_keep(suid, cred->suid);
	return 0;
}

long sys_setresgid(u32 gid, u32 egid, u32 sgid)
{
	struct credentials *cred = &current->cred;

	if (!capable() && !(is_my_gid(gid) && is_my_gid(egid) && is_my_gid(sgid)))
		return -EPERM;
	cred->gid = or_keep(gid, cred->gid);
	act_as(&cred->egid, or_keep(egid, cred->egid));
	act_as(&cred->fsgid, cred->egid);
	cred->sgid = or_keep(sgid, cred->sgid);
	return 0;
}

/* The saved ID is set when the real one is, or when the effective one becomes different from the real one. */
long sys_setreuid(u32 uid, u32 euid)
{
	struct credentials *cred = &current->cred;
	u32 old = cred->uid;

	if (!capable() && ((uid != KEEP && uid != cred->uid && uid != cred->euid) || !is_my_uid(euid)))
		return -EPERM;
	set_real_uid(or_keep(uid, cred->uid));
	act_as(&cred->euid, or_keep(euid, cred->euid));
	act_as(&cred->fsuid, cred->euid);
	if (uid != KEEP || (euid != KEEP && euid != old))
		cred->suid = cred->euid;
	return 0;
}

long sys_setregid(u32 gid, u32 egid)
{
	struct credentials *cred = &current->cred;
	u32 old = cred->gid;

	if (!capable() && ((gid != KEEP && gid != cred->gid && gid != cred->egid) || !is_my_gid(egid)))
		return -EPERM;
	cred->gid = or_keep(gid, cred->gid);
	act_as(&cred->egid, or_keep(egid, cred->egid));
	act_as(&cred->fsgid, cred->egid);
	if (gid != KEEP || (egid != KEEP && egid != old))
		cred->sgid = cred->egid;
	return 0;
}

long sys_setuid(u32 uid)
{
	struct credentials *cred = &current->cred;

	if (uid == KEEP)
		return -EINVAL;
	if (capable()) {
		set_real_uid(uid);
		cred->suid = uid;
	} else if (uid != cred->uid && uid != cred->suid) {
		return -EPERM;
	}
	act_as(&cred->euid, uid);
	act_as(&cred->fsuid, cred->euid);
	return 0;
}

long sys_setgid(u32 gid)
{
	struct credentials *cred = &current->cred;

	if (gid == KEEP)
		return -EINVAL;
	if (capable())
		cred->gid = cred->sgid = gid;
	else if (gid != cred->gid && gid != cred->sgid)
		return -EPERM;
	act_as(&cred->egid, gid);
	act_as(&cred->fsgid, cred->egid);
	return 0;
}

/* setfsuid and setfsgid return the old value and never fail. */
long sys_setfsuid(u32 uid)
{
	u32 old = current->cred.fsuid;

	if (uid != KEEP && (capable() || is_my_uid(uid) || uid == old))
		act_as(&current->cred.fsuid, uid);
	return (long)old;
}

long sys_setfsgid(u32 gid)
{
	u32 old = current->cred.fsgid;

	if (gid != KEEP && (capable() || is_my_gid(gid) || gid == old))
		act_as(&current->cred.fsgid, gid);
	return (long)old;
}

static long put_three(u32 a, u32 b, u32 c, u32 *user_a, u32 *user_b, u32 *user_c)
{
	return put_user(a, user_a) || put_user(b, user_b) || put_user(c, user_c) ? -EFAULT : 0;
}

long sys_getresuid(u32 *uid, u32 *euid, u32 *suid)
{
	const struct credentials *cred = &current->cred;

	return put_three(cred->uid, cred->euid, cred->suid, uid, euid, suid);
}

long sys_getresgid(u32 *gid, u32 *egid, u32 *sgid)
{
	const struct credentials *cred = &current->cred;

	return put_three(cred->gid, cred->egid, cred->sgid, gid, egid, sgid);
}

long sys_getgroups(int count, u32 *user)
{
	const struct groups *groups = current->cred.groups;
	u32 have = group_count(&current->cred);

	if (count < 0)
		return -EINVAL;
	if (!count || !have)
		return (long)have;
	if ((u32)count < have)
		return -EINVAL;
	return copy_to_user(user, groups->id, have * sizeof(u32)) ? -EFAULT : (long)have;
}

size_t groups_size(const struct groups *groups)
{
	return groups ? sizeof(*groups) + groups->count * sizeof(groups->id[0]) : 0;
}

struct groups *groups_new(u32 count)
{
	struct groups *groups = count ? kmalloc(sizeof(*groups) + count * sizeof(groups->id[0])) : NULL;

	if (groups) {
		groups->refs = 1;
		groups->count = count;
	}
	return groups;
}

struct groups *groups_get(struct groups *groups)
{
	if (groups)
		groups->refs++;
	return groups;
}

void groups_put(struct groups *groups)
{
	if (groups && !--groups->refs)
		kfree(groups);
}

/* Moves the number at `at` down, until no number below it in the heap of `count` numbers is larger. */
static void heap_sink(u32 *heap, u32 at, u32 count)
{
	u32 moved = heap[at];

	for (u32 below; (below = 2 * at + 1) < count; at = below) {
		if (below + 1 < count && heap[below + 1] > heap[below])
			below++;
		if (heap[below] <= moved)
			break;
		heap[at] = heap[below];
	}
	heap[at] = moved;
}

static void heap_sort(u32 *list, u32 count)
{
	for (u32 at = count / 2; at--;) {
		interrupt_window_at(at);
		heap_sink(list, at, count);
	}
	for (u32 last = count; last-- > 1;) {
		u32 largest = list[0];

		interrupt_window_at(last);
		list[0] = list[last];
		list[last] = largest;
		heap_sink(list, 0, last);
	}
}

void groups_replace(struct groups *groups)
{
	struct groups *old = current->cred.groups;

	if (groups)
		heap_sort(groups->id, groups->count);
	current->cred.groups = groups;
	groups_put(old);
}

struct groups *groups_to_set(int count)
{
	struct groups *groups;

	if (!capable())
		return ERR_PTR(-EPERM);
	if (count < 0 || count > NGROUPS_MAX)
		return ERR_PTR(-EINVAL);
	groups = groups_new((u32)count);
	return count && !groups ? ERR_PTR(-ENOMEM) : groups;
}

long sys_setgroups(int count, const u32 *user)
{
	struct groups *groups = groups_to_set(count);

	if (IS_ERR(groups))
		return PTR_ERR(groups);
	if (count && copy_from_user(groups->id, user, (u32)count * sizeof(groups->id[0]))) {
		groups_put(groups);
		return -EFAULT;
	}
	groups_replace(groups);
	return 0;
}

/* The superuser has all capabilities, other users have none, and no call changes that. */
static int capability_words(struct cap_header *user, struct cap_header *header)
{
	if (copy_from_user(header, user, sizeof(*header)))
		return -EFAULT;
	if (header->version == CAPABILITY_VERSION_1)
		return 1;
	if (header->version == CAPABILITY_VERSION_2 || header->version == CAPABILITY_VERSION_3)
		return 2;
	return put_user(CAPABILITY_VERSION_3, &user->version) ? -EFAULT : -EINVAL;
}

static u32 capability_mask(const struct credentials *cred, int word)
{
	if (cred->euid)
		return 0;
	return word ? (1u << (CAPABILITY_LAST - 31)) - 1 : ~0u;
}

long sys_capget(struct cap_header *user, struct cap_data *data)
{
	struct cap_data result[2] = { 0 };
	struct cap_header header;
	struct task *task;
	int words = capability_words(user, &header);

	if (words < 0)
		return words == -EINVAL && !data ? 0 : words;
	if (header.pid < 0)
		return -EINVAL;
	task = header.pid ? task_find(header.pid) : current;
	if (!task)
		return -ESRCH;
	for (int i = 0; i < words; i++)
		result[i].effective = result[i].permitted = capability_mask(&task->cred, i);
	return data ? copy_to_user(data, result, (u32)words * sizeof(result[0])) : 0;
}

long sys_capset(struct cap_header *user, const struct cap_data *data)
{
	struct cap_data wanted[2];
	struct cap_header header;
	int words = capability_words(user, &header);

	if (words < 0)
		return words;
	if (copy_from_user(wanted, data, (u32)words * sizeof(wanted[0])))
		return -EFAULT;
	if (header.pid && header.pid != current->pid)
		return -EPERM;
	for (int i = 0; i < words; i++) {
		u32 mine = capability_mask(&current->cred, i);

		if ((wanted[i].effective | wanted[i].permitted) & ~mine)
			return -EPERM;
	}
	return 0;
}
