/* The directories of /proc: looking up and listing names. */
#include <err.h>
#include <filesystem.h>
#include <lib.h>
#include <process.h>
#include <procfs.h>
#include <task.h>
#include <window.h>

#include "proc_internal.h"

/*
 * Inode numbers: registered nodes from 1, then 2^17 for each process. They have 32 bits: old calls of 32-bit programs
 * refuse larger ones. So descriptors whose numbers differ by 2^15 have the same.
 */
#define PID_INO(pid) ((u64)(pid) << 17)
#define INO_TASKS 0x800u
#define INO_FDS 0x801u
#define INO_INFOS 0x802u
#define INO_FD 0x8000u
#define INO_INFO 0x10000u
#define INO_FDS_APART 0x8000u

/* A decimal number without leading zeros, or -1. */
static s32 decimal_number(const char *name, size_t len)
{
	s32 value = 0;

	if (len == 0 || len > 9 || (len > 1 && name[0] == '0'))
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return -1;
		value = value * 10 + (name[i] - '0');
	}
	return value;
}

static bool entry_named(const char *name, size_t len, const char *word)
{
	return strlen(word) == len && !memcmp(name, word, len);
}

static struct dentry *lookup_root(struct dentry *dir, const char *name, size_t len)
{
	struct proc_item item = { .kind = PROC_SELF };
	const struct process *process;

	if (entry_named(name, len, "self"))
		return proc_dentry(dir, name, len, &item, S_IFLNK | 0777, 1u << 18);
	if (entry_named(name, len, "thread-self")) {
		item.thread = true;
		return proc_dentry(dir, name, len, &item, S_IFLNK | 0777, (1u << 18) + 1);
	}
	item.pid = decimal_number(name, len);
	if (item.pid <= 0)
		return proc_lookup_node(dir, &proc_root_node, name, len);
	/* A thread's number works too, although it is not listed. */
	process = process_find(item.pid);
	item.thread = !process;
	if (item.thread && !task_find(item.pid))
		return ERR_PTR(-ENOENT);
	item.start_ns = process ? process->start_ns : 0;
	item.kind = PROC_TASK;
	return proc_dentry(dir, name, len, &item, S_IFDIR | 0555, PID_INO(item.pid));
}

static struct dentry *lookup_task(struct dentry *dir, const struct proc_item *of, const char *name, size_t len)
{
	struct proc_item item = *of;

	if (entry_named(name, len, "fd")) {
		item.kind = PROC_FDS;
		return proc_dentry(dir, name, len, &item, S_IFDIR | 0500, PID_INO(of->pid) + INO_FDS);
	}
	if (entry_named(name, len, "fdinfo")) {
		item.kind = PROC_INFOS;
		return proc_dentry(dir, name, len, &item, S_IFDIR | 0500, PID_INO(of->pid) + INO_INFOS);
	}
	if (entry_named(name, len, "task") && !of->thread) {
		item.kind = PROC_TASKS;
		return proc_dentry(dir, name, len, &item, S_IFDIR | 0555, PID_INO(of->pid) + INO_TASKS);
	}
	item.kind = PROC_ENTRY;
	for (unsigned i = 0; i < proc_entry_count; i++)
		if (entry_named(name, len, proc_entries[i].name)) {
			item.entry = &proc_entries[i];
			item.mm = proc_mm_number(of);
			return proc_dentry(dir, name, len, &item, item.entry->mode, PID_INO(of->pid) + 1 + i);
		}
	return ERR_PTR(-ENOENT);
}

static struct dentry *lookup_thread(struct dentry *dir, const struct proc_item *of, const char *name, size_t len)
{
	struct proc_item item = { .kind = PROC_TASK, .thread = true, .pid = decimal_number(name, len) };
	const struct task *task = item.pid > 0 ? task_find(item.pid) : NULL;

	if (!task || task->tgid != of->pid)
		return ERR_PTR(-ENOENT);
	return proc_dentry(dir, name, len, &item, S_IFDIR | 0555, PID_INO(item.pid));
}

struct process *proc_directory_process(const struct file *file)
{
	const struct proc_item *item = file->ops == &proc_dir_ops ? file->inode->data : NULL;
	struct process *process;

	if (!item || item->kind != PROC_TASK || item->thread)
		return ERR_PTR(-EBADF);
	process = process_find(item->pid);
	return process && process->start_ns == item->start_ns ? process : ERR_PTR(-ESRCH);
}

/*
 * Sets *out to the process's descriptor table; NULL: it has none any more. -EACCES: current may not see it. This is
 * checked at each use: since the directory was opened, the process may have changed its user, or another process may
 * have got its number.
 */
static int files_of(const struct proc_item *item, const struct files **out)
{
	struct process *process;
	const struct task *task;

	if (item->thread) {
		task = task_find(item->pid);
	} else {
		process = process_find(item->pid);
		task = process ? process->leader : NULL;
	}
	*out = task ? task->files : NULL;
	return task && !may_trace(task) ? -EACCES : 0;
}

static struct dentry *lookup_fd(struct dentry *dir, const struct proc_item *of, const char *name, size_t len)
{
	struct proc_item item = *of;
	const struct files *files;
	const struct file *file;
	u32 mode = S_IFLNK;
	int error = files_of(of, &files);

	if (error)
		return ERR_PTR(error);
	item.kind = of->kind == PROC_FDS ? PROC_FD : PROC_INFO;
	item.fd = decimal_number(name, len);
	if (!files || item.fd < 0 || (u32)item.fd >= files->size || !files->slot[item.fd])
		return ERR_PTR(-ENOENT);
	if (item.kind == PROC_INFO)
		return proc_dentry(dir, name, len, &item, S_IFREG | 0400,
				   PID_INO(of->pid) + INO_INFO + (u32)item.fd % INO_FDS_APART);
	file = files->slot[item.fd];
	if (FILE_READS(file))
		mode |= 0500;
	if (FILE_WRITES(file))
		mode |= 0300;
	return proc_dentry(dir, name, len, &item, mode, PID_INO(of->pid) + INO_FD + (u32)item.fd % INO_FDS_APART);
}

struct dentry *proc_lookup(struct dentry *dir, const char *name, size_t len)
{
	const struct proc_item *item = dir->inode->data;

	switch (item->kind) {
	case PROC_NODE:
		if (item->node == &proc_root_node)
			return lookup_root(dir, name, len);
		return proc_lookup_node(dir, item->node, name, len);
	case PROC_TASK:
		return lookup_task(dir, item, name, len);
	case PROC_TASKS:
		return lookup_thread(dir, item, name, len);
	case PROC_FDS:
	case PROC_INFOS:
		return lookup_fd(dir, item, name, len);
	default:
		return ERR_PTR(-ENOTDIR);
	}
}

#define DT_DIR (S_IFDIR >> 12)
#define DT_REG (S_IFREG >> 12)
#define DT_LNK (S_IFLNK >> 12)

/* Positions: 0 and 1 are the dots; the others are FIRST + a number (index, process id, descriptor). */
#define FIRST 2u
#define FIRST_PID 0x10000u      /* in the root, after the registered names */

struct listing {
	struct file *file;
	struct dir_sink *sink;
	bool full;
};

/* Gives one entry; false when there is no more room. */
static bool proc_dir_give(struct listing *listing, const char *name, u64 ino, unsigned type, u64 next)
{
	if (!listing->sink->add(listing->sink, name, strlen(name), ino, type, next)) {
		listing->full = true;
		return false;
	}
	listing->file->position = next;
	return true;
}

static void list_nodes(struct listing *listing, const struct proc_node *dir)
{
	const struct proc_node *node;
	u64 at = FIRST;
	char name[NAME_MAX + 1];

	list_for_each_entry(node, &dir->children, link) {
		if (at++ < listing->file->position)
			continue;
		memcpy(name, node->name, node->len);    /* the path "mmu/hash" names two nodes: cut off the rest */
		name[node->len] = 0;
		if (!proc_dir_give(listing, name, node->ino, node->directory ? DT_DIR : node->target ? DT_LNK : DT_REG,
				   at))
			return;
	}
}

static void list_root(struct listing *listing)
{
	struct file *file = listing->file;

	if (file->position < FIRST_PID) {
		list_nodes(listing, &proc_root_node);
		if (listing->full ||
		    (file->position < FIRST_PID - 2 &&
		     !proc_dir_give(listing, "self", 1u << 18, DT_LNK, FIRST_PID - 2)))
			return;
		if (file->position < FIRST_PID &&
		    !proc_dir_give(listing, "thread-self", (1u << 18) + 1, DT_LNK, FIRST_PID))
			return;
	}
	for (;;) {
		s32 from = (s32)(file->position - FIRST_PID), found = 0;
		const struct process *process;
		char name[12];

		interrupt_window();
		list_for_each_window(process, &process_list, all) {
			if (process->pid > 0 && process->pid >= from && (!found || process->pid < found))
				found = process->pid;
		}
		if (!found)
			return;
		snprintf(name, sizeof(name), "%d", found);
		if (!proc_dir_give(listing, name, PID_INO(found), DT_DIR, FIRST_PID + (u64)found + 1))
			return;
	}
}

static void list_task(struct listing *listing, const struct proc_item *item)
{
	struct file *file = listing->file;

	while (file->position - FIRST < proc_entry_count) {
		u32 i = (u32)(file->position - FIRST);
		unsigned type = (proc_entries[i].mode & S_IFMT) >> 12;

		if (!proc_dir_give(listing, proc_entries[i].name, PID_INO(item->pid) + 1 + i, type, file->position + 1))
			return;
	}
	if (file->position == FIRST + proc_entry_count &&
	    !proc_dir_give(listing, "fd", PID_INO(item->pid) + INO_FDS, DT_DIR, file->position + 1))
		return;
	if (file->position == FIRST + proc_entry_count + 1 &&
	    !proc_dir_give(listing, "fdinfo", PID_INO(item->pid) + INO_INFOS, DT_DIR, file->position + 1))
		return;
	if (file->position == FIRST + proc_entry_count + 2 && !item->thread)
		proc_dir_give(listing, "task", PID_INO(item->pid) + INO_TASKS, DT_DIR, file->position + 1);
}

static void list_threads(struct listing *listing, const struct proc_item *item)
{
	for (;;) {
		struct process *process = process_find(item->pid);
		s32 from = (s32)(listing->file->position - FIRST), found = 0;
		const struct task *task;
		char name[12];

		if (!process)
			return;
		interrupt_window();
		list_for_each_window(task, &process->threads, group_link) {
			if (task->pid >= from && (!found || task->pid < found))
				found = task->pid;
		}
		if (!found)
			return;
		snprintf(name, sizeof(name), "%d", found);
		if (!proc_dir_give(listing, name, PID_INO(found), DT_DIR, FIRST + (u64)found + 1))
			return;
	}
}

static void list_fds(struct listing *listing, const struct proc_item *item, const struct files *files)
{
	bool links = item->kind == PROC_FDS;
	u64 first = PID_INO(item->pid) + (links ? INO_FD : INO_INFO);
	char name[12];

	for (u32 fd = (u32)listing->file->position - FIRST; files && fd < files->size; fd++) {
		if (!files->slot[fd])
			continue;
		snprintf(name, sizeof(name), "%u", fd);
		if (!proc_dir_give(listing, name, first + fd % INO_FDS_APART, links ? DT_LNK : DT_REG,
				   FIRST + (u64)fd + 1))
			return;
	}
}

static int proc_getdents(struct file *file, struct dir_sink *sink)
{
	const struct proc_item *item = file->inode->data;
	struct listing l = { .file = file, .sink = sink };
	const struct files *files = NULL;
	int error = item->kind == PROC_FDS || item->kind == PROC_INFOS ? files_of(item, &files) : 0;

	if (error)
		return error;
	if (file->position == 0 && !proc_dir_give(&l, ".", file->inode->ino, DT_DIR, 1))
		return 0;
	if (file->position == 1 && !proc_dir_give(&l, "..", file->dentry->parent->inode->ino, DT_DIR, FIRST))
		return 0;
	switch (item->kind) {
	case PROC_NODE:
		if (item->node == &proc_root_node)
			list_root(&l);
		else
			list_nodes(&l, item->node);
		break;
	case PROC_TASK:
		list_task(&l, item);
		break;
	case PROC_TASKS:
		list_threads(&l, item);
		break;
	case PROC_FDS:
	case PROC_INFOS:
		list_fds(&l, item, files);
		break;
	default:
		return -ENOTDIR;
	}
	return 0;
}

const struct file_ops proc_dir_ops = { .read = directory_read, .getdents = proc_getdents, .seek = seek_endless };
