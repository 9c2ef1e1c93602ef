/* Keys, identifiers and permissions of System V objects. */
#include "sysv.h"

#include <arch.h>
#include <err.h>
#include <lib.h>
#include <task.h>

void *sysv_at(const struct sysv_table *t, int slot)
{
	return slot >= 0 && (u32)slot < t->max ? t->slot[slot] : NULL;
}

void *sysv_find(const struct sysv_table *t, int id)
{
	struct sysv_perm *p = id >= 0 ? t->slot[(u32)id % SYSV_SLOTS_MAX] : NULL;

	return p && p->id == id ? p : NULL;
}

bool sysv_may(const struct sysv_perm *p, u32 access)
{
	u32 bits = p->mode;

	if (capable())
		return true;
	if (current->cred.euid == p->uid || current->cred.euid == p->creator_uid)
		bits >>= 6;
	else if (in_group(p->gid) || in_group(p->creator_gid))
		bits >>= 3;
	return (bits & access) == access;
}

bool sysv_owns(const struct sysv_perm *p)
{
	return capable() || current->cred.euid == p->uid || current->cred.euid == p->creator_uid;
}

long sysv_get(const struct sysv_table *t, s32 key, u32 flags, struct sysv_perm **found)
{
	if (key == IPC_PRIVATE)
		return -ENOENT;
	for (u32 i = 0; i < t->max; i++) {
		struct sysv_perm *p = t->slot[i];
		u32 wanted = (flags >> 6 | flags >> 3 | flags) & 7;

		if (!p || p->key != key)
			continue;
		if (flags & IPC_CREAT && flags & IPC_EXCL)
			return -EEXIST;
		if (!sysv_may(p, wanted & (SYSV_READ | SYSV_WRITE)))
			return -EACCES;
		*found = p;
		return p->id;
	}
	return -ENOENT;
}

long sysv_add(struct sysv_table *t, struct sysv_perm *p, s32 key, u32 flags)
{
	for (u32 i = 0; i < t->max; i++) {
		if (t->slot[i])
			continue;
		t->slot[i] = p;
		t->used++;
		p->key = key;
		p->uid = p->creator_uid = current->cred.euid;
		p->gid = p->creator_gid = current->cred.egid;
		p->mode = flags & 0777;
		p->sequence = t->sequence++ & 0xffff;
		p->id = (s32)(p->sequence * SYSV_SLOTS_MAX + i);
		return p->id;
	}
	return -ENOSPC;
}

void sysv_remove(struct sysv_table *t, struct sysv_perm *p)
{
	t->slot[(u32)p->id % SYSV_SLOTS_MAX] = NULL;
	t->used--;
}

long sysv_highest(const struct sysv_table *t)
{
	for (u32 i = t->max; i-- > 0;)
		if (t->slot[i])
			return (long)i;
	return 0;
}

void sysv_perm_to_abi(const struct sysv_perm *p, struct sysv_perm_abi *out)
{
	out->key = p->key;
	out->uid = p->uid;
	out->gid = p->gid;
	out->cuid = p->creator_uid;
	out->cgid = p->creator_gid;
	out->mode = p->mode;
	out->seq = p->sequence;
}

void sysv_perm_set(struct sysv_perm *p, const struct sysv_perm_abi *from)
{
	p->uid = from->uid;
	p->gid = from->gid;
	p->mode = (p->mode & ~0777u) | (from->mode & 0777);
}
