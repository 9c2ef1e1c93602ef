/* Keys, identifiers and permissions of System V objects. */
#include <arch.h>
#include <lib.h>
#include <task.h>
#include <time.h>
#include <uaccess.h>

#include "sysv.h"

void *sysv_at(const struct sysv_table *table, int slot)
{
	return slot >= 0 && (u32)slot < SYSV_SLOTS_MAX ? table->slot[slot] : NULL;
}

void *sysv_find(const struct sysv_table *table, int id)
{
	struct sysv_perm *perm = id >= 0 ? table->slot[(u32)id % SYSV_SLOTS_MAX] : NULL;

	return perm && perm->id == id ? perm : NULL;
}

bool sysv_may(const struct sysv_perm *perm, u32 access)
{
	u32 bits = perm->mode;

	if (capable())
		return true;
	if (current->cred.euid == perm->uid || current->cred.euid == perm->creator_uid)
		bits >>= 6;
	else if (in_group(perm->gid) || in_group(perm->creator_gid))
		bits >>= 3;
	return (bits & access) == access;
}

bool sysv_owns(const struct sysv_perm *perm)
{
	return capable() || current->cred.euid == perm->uid || current->cred.euid == perm->creator_uid;
}

long sysv_get(const struct sysv_table *table, s32 key, u32 flags, struct sysv_perm **found)
{
	if (key == IPC_PRIVATE)
		return -ENOENT;
	for (u32 i = 0; i < SYSV_SLOTS_MAX; i++) {
		struct sysv_perm *perm = table->slot[i];
		u32 wanted = (flags >> 6 | flags >> 3 | flags) & 7;

		if (!perm || perm->key != key)
			continue;
		if (flags & IPC_CREAT && flags & IPC_EXCL)
			return -EEXIST;
		if (!sysv_may(perm, wanted & (SYSV_READ | SYSV_WRITE)))
			return -EACCES;
		*found = perm;
		return perm->id;
	}
	return -ENOENT;
}

long sysv_add(struct sysv_table *table, struct sysv_perm *perm, s32 key, u32 flags)
{
	for (u32 i = 0; i < SYSV_SLOTS_MAX; i++) {
		if (table->slot[i])
			continue;
		table->slot[i] = perm;
		table->used++;
		perm->key = key;
		perm->uid = perm->creator_uid = current->cred.euid;
		perm->gid = perm->creator_gid = current->cred.egid;
		perm->mode = flags & 0777;
		perm->changed = (s64)time_real_seconds();
		perm->sequence = table->sequence++ & 0xffff;
		perm->id = (s32)(perm->sequence * SYSV_SLOTS_MAX + i);
		return perm->id;
	}
	return -ENOSPC;
}

void sysv_remove(struct sysv_table *table, struct sysv_perm *perm)
{
	table->slot[(u32)perm->id % SYSV_SLOTS_MAX] = NULL;
	table->used--;
}

long sysv_highest(const struct sysv_table *table)
{
	for (u32 i = SYSV_SLOTS_MAX; i-- > 0;)
		if (table->slot[i])
			return (long)i;
	return 0;
}

static void perm_to_abi(const struct sysv_perm *perm, struct sysv_perm_abi *out)
{
	out->key = perm->key;
	out->uid = perm->uid;
	out->gid = perm->gid;
	out->cuid = perm->creator_uid;
	out->cgid = perm->creator_gid;
	out->mode = perm->mode;
	out->seq = perm->sequence;
}

/* The copy may sleep, and the object may be removed meanwhile: look it up again. */
static long set_status(struct sysv_table *table, int id, uaddr_t user)
{
	union sysv_status status;
	struct sysv_perm *perm;
	long result;

	if (copy_from_user(&status, (void *)user, table->status_size))
		return -EFAULT;
	perm = sysv_find(table, id);
	if (!perm)
		return -EINVAL;
	if (!sysv_owns(perm))
		return -EPERM;
	result = table->set ? table->set(perm, &status) : 0;
	if (result)
		return result;
	perm->uid = status.perm.uid;
	perm->gid = status.perm.gid;
	perm->mode = (perm->mode & ~0777u) | (status.perm.mode & 0777);
	perm->changed = (s64)time_real_seconds();
	return 0;
}

long sysv_control(struct sysv_table *table, int id, int command, uaddr_t user)
{
	bool by_slot = command == table->stat || command == table->stat_any;
	struct sysv_perm *perm = by_slot ? sysv_at(table, id) : sysv_find(table, id);
	union sysv_status status;

	if (!perm)
		return -EINVAL;
	if (by_slot || command == IPC_STAT) {
		if (command != table->stat_any && !sysv_may(perm, SYSV_READ))
			return -EACCES;
		memset(&status, 0, sizeof(status));
		perm_to_abi(perm, &status.perm);
		table->status(perm, &status);
		id = by_slot ? perm->id : 0;
		return copy_to_user((void *)user, &status, table->status_size) ? -EFAULT : id;
	}
	if (command == IPC_SET)
		return set_status(table, id, user);
	if (command != IPC_RMID)
		return -EINVAL;
	if (!sysv_owns(perm))
		return -EPERM;
	table->remove(perm);
	return 0;
}
