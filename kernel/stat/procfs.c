/* /proc: inodes are created when a name is looked up, text when a file is read. */
#include <err.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>
#include <mm.h>
#include <process.h>
#include <procfs.h>
#include <task.h>
#include <window.h>

#include "proc_internal.h"

#define STORE_MAX 4096u /* bytes of one write to a file of /proc */

static u32 next_ino = 2;

struct proc_node proc_root_node = {
	.link = LIST_HEAD_INIT(proc_root_node.link),
	.children = LIST_HEAD_INIT(proc_root_node.children),
	.name = "",
	.ino = 1,
	.directory = true,
};

static struct proc_node *find_node(const struct proc_node *dir, const char *name, size_t len)
{
	struct proc_node *node;

	list_for_each_entry(node, &dir->children, link)
		if (node->len == len && !memcmp(node->name, name, len))
			return node;
	return NULL;
}

static struct proc_node *add_node(struct proc_node *dir, const char *name, size_t len)
{
	struct proc_node *node = kzalloc(sizeof(*node));

	if (!node)
		panic("/proc/%s: no memory", name);
	node->name = name;
	node->len = len;
	node->ino = next_ino++;
	list_init(&node->children);
	list_add_tail(&node->link, &dir->children);
	return node;
}

/* Finds or creates the node of a path, and the directories on the way. The path outlives it. */
static struct proc_node *node_for(struct proc_node *dir, const char *path)
{
	const char *slash;

	while ((slash = strchr(path, '/')) != NULL) {
		size_t len = (size_t)(slash - path);
		struct proc_node *next = find_node(dir, path, len);

		if (!next) {
			next = add_node(dir, path, len);
			next->directory = true;
		}
		dir = next;
		path = slash + 1;
	}
	return add_node(dir, path, strlen(path));
}

void proc_file_below(struct proc_node *root, const char *path, void (*show)(struct text *),
		     int (*store)(const char *, size_t))
{
	struct proc_node *node = node_for(root, path);

	node->show = show;
	node->store = store;
}

void proc_file(const char *path, void (*show)(struct text *), int (*store)(const char *, size_t))
{
	proc_file_below(&proc_root_node, path, show, store);
}

void proc_link(const char *path, const char *target)
{
	node_for(&proc_root_node, path)->target = target;
}

static void proc_free(struct inode *inode)
{
	kfree(inode->data);
}

static struct task *item_task(const struct proc_item *item)
{
	struct process *process;

	if (item->thread)
		return task_find(item->pid);
	process = process_find(item->pid);
	return process ? process->leader : NULL;
}

u32 proc_mm_number(const struct proc_item *item)
{
	const struct task *task = item_task(item);

	return task && task->mm ? task->mm->number : 0;
}

static bool is_private(const struct proc_item *item)
{
	return item->kind == PROC_INFO || (item->kind == PROC_ENTRY && item->entry->is_private);
}

static long proc_readlink(struct inode *inode, char *buffer, size_t size)
{
	const struct proc_item *item = inode->data;
	struct dentry *dentry;
	char *path;
	size_t len;

	if (item->kind == PROC_SELF)
		return snprintf(buffer, size, item->thread ? "%d/task/%d" : "%d", current->tgid, current->pid);
	if (item->kind == PROC_NODE) {
		len = MIN(size, strlen(item->node->target));
		memcpy(buffer, item->node->target, len);
		return (long)len;
	}
	dentry = inode->ops->follow(inode);
	if (IS_ERR(dentry))
		return PTR_ERR(dentry);
	path = dentry_path(dentry, buffer, size);
	if (!IS_ERR(path)) {
		len = strlen(path);
		memmove(buffer, path, len);
	}
	dentry_put(dentry);
	return IS_ERR(path) ? PTR_ERR(path) : (long)len;
}

static struct dentry *proc_follow(struct inode *inode)
{
	const struct proc_item *item = inode->data;
	struct task *task = item_task(item);
	struct dentry *dentry;
	int error;

	if (!task)
		return ERR_PTR(-ENOENT);
	if (!may_trace(task))
		return ERR_PTR(-EACCES);
	if (item->kind == PROC_FD) {
		const struct files *files = task->files;

		if (!files || (u32)item->fd >= files->size || !files->slot[item->fd])
			return ERR_PTR(-ENOENT);
		return dentry_get(files->slot[item->fd]->dentry);
	}
	error = item->entry->link(task, &dentry);
	return error ? ERR_PTR(error) : dentry;
}

static const struct inode_ops proc_ops = { .lookup = proc_lookup, .readlink = proc_readlink, .free = proc_free };
/* Links that lead to a file itself and not to its name. */
static const struct inode_ops proc_magic_ops = { .readlink = proc_readlink, .follow = proc_follow, .free = proc_free };

struct dentry *proc_dentry(struct dentry *dir, const char *name, size_t len, const struct proc_item *from, u32 mode,
			   u64 ino)
{
	struct proc_item *item = kmalloc(sizeof(*item));
	struct inode *inode = item ? inode_new(dir->inode->fs, mode, 0) : NULL;
	struct dentry *dentry = NULL;

	if (!inode) {
		kfree(item);
		return ERR_PTR(-ENOMEM);
	}
	*item = *from;
	inode->data = item;
	inode->ino = ino;
	inode->uid = inode->gid = 0;
	inode->ops = S_ISLNK(mode) && (item->kind == PROC_FD || item->kind == PROC_ENTRY) ? &proc_magic_ops : &proc_ops;
	inode->fops = S_ISDIR(mode) ? &proc_dir_ops : &proc_text_ops;
	if (S_ISDIR(mode))
		inode->nlink = 2;
	if (item->kind != PROC_NODE && item->kind != PROC_SELF) {
		const struct task *task = item_task(item);

		inode->uid = task ? task->cred.euid : 0;
		inode->gid = task ? task->cred.egid : 0;
	}
	dentry = dentry_new(dir, name, len, inode);
	inode_put(inode);
	return dentry ? dentry : ERR_PTR(-ENOMEM);
}

static struct dentry *node_dentry(struct dentry *dir, const struct proc_node *node)
{
	struct proc_item item = { .kind = PROC_NODE, .node = node };
	u32 mode = node->directory ? S_IFDIR | 0555 :
		   node->target	? S_IFLNK | 0777 :
				  S_IFREG | (node->show ? 0444u : 0) | (node->store ? 0200u : 0);

	return proc_dentry(dir, node->name, node->len, &item, mode, node->ino);
}

struct dentry *proc_lookup_node(struct dentry *dir, const struct proc_node *parent, const char *name, size_t len)
{
	const struct proc_node *node = find_node(parent, name, len);

	return node ? node_dentry(dir, node) : ERR_PTR(-ENOENT);
}

static int show_open_file(const struct task *task, int fd, struct text *text)
{
	const struct files *files = task->files;
	struct file *file = files && (u32)fd < files->size ? files->slot[fd] : NULL;
	bool cloexec;

	if (!file)
		return -ENOENT;
	/* Other tasks may run in show(), and this one may end. */
	file_get(file);
	cloexec = files->cloexec[fd / 32] >> (fd % 32) & 1;
	text_printf(text, "pos:\t%llu\nflags:\t0%o\nmnt_id:\t%u\nino:\t%llu\n", file->position,
		    file->flags | (cloexec ? O_CLOEXEC : 0), MINOR(inode_dev(file->inode)), file->inode->ino);
	if (file->ops->show)
		file->ops->show(file, text);
	file_put(file);
	return 0;
}

static int make_text(const struct proc_item *item, struct text *text)
{
	struct task *task;
	int error = 0;

	if (item->kind == PROC_NODE) {
		if (!item->node->show)
			return -EINVAL;
		item->node->show(text);
	} else {
		task = item_task(item);
		if (!task)
			return -ESRCH;
		if (item->kind == PROC_INFO)
			error = may_trace(task) ? show_open_file(task, item->fd, text) : -EACCES;
		else if (!item->entry->is_private || item->mm == proc_mm_number(item))
			item->entry->show(text, task);
	}
	return text->no_memory ? -ENOMEM : error;
}

/* The text of an open file. A copy to a program may sleep, so the text is kept until the last copy is done. */
struct shown {
	u32 users;      /* the open file, and copies under way */
	struct text text;
};

static void shown_put(struct shown *shown)
{
	if (!shown || --shown->users)
		return;
	kfree(shown->text.buffer);
	kfree(shown);
}

static void proc_release(struct file *file)
{
	shown_put(file->data);
}

static int show_anew(struct file *file)
{
	struct shown *shown = kzalloc(sizeof(*shown));
	int error;

	if (!shown)
		return -ENOMEM;
	shown->users = 1;
	error = make_text(file->inode->data, &shown->text);
	if (error) {
		shown_put(shown);
		return error;
	}
	shown_put(file->data);
	file->data = shown;
	return 0;
}

static int proc_open(struct file *file)
{
	const struct proc_item *item = file->inode->data;
	const struct task *task = is_private(item) ? item_task(item) : NULL;

	return task && !may_trace(task) ? -EACCES : 0;
}

/* Copies text page by page. Other tasks run between two pages. */
static long give_text(struct iter *it, const char *from, size_t size)
{
	size_t done = 0;

	while (done < size && it->left) {
		size_t part = MIN(size - done, (size_t)PAGE_SIZE);
		long n = iter_write(it, from + done, part);

		if (n < 0)
			return done ? (long)done : n;
		done += (size_t)n;
		if ((size_t)n < part)
			break;
		preemption_point();
		it->unwindowed = 0;
	}
	return (long)done;
}

/* Generates the text at the first read, and again at a read from the start. */
static long proc_read(struct file *file, struct iter *it, u64 *position)
{
	u64 at = *position;
	struct shown *shown;
	long n;

	if (!file->data || at == 0) {
		n = show_anew(file);
		if (n)
			return n;
	}
	shown = file->data;
	if (at >= shown->text.len)
		return 0;
	shown->users++;
	n = give_text(it, shown->text.buffer + at, shown->text.len - (size_t)at);
	shown_put(shown);
	if (n > 0)
		*position = at + (u64)n;
	return n;
}

static long proc_write(struct file *file, struct iter *it, u64 *position)
{
	const struct proc_item *item = file->inode->data;
	size_t size = it->left;
	char *words;
	long n;

	if (size > STORE_MAX)
		return -EINVAL;
	words = kmalloc(size + 1);
	if (!words)
		return -ENOMEM;
	n = iter_read(it, words, size);
	if (n >= 0) {
		int error = -EINVAL;

		words[n] = 0;
		if (item->kind == PROC_NODE && item->node->store)
			error = item->node->store(words, (size_t)n);
		else if (item->kind == PROC_ENTRY && item->entry->store) {
			struct task *task = item_task(item);

			error = task ? item->entry->store(task, words, (size_t)n) : -ESRCH;
		}
		if (error)
			n = error;
		else
			*position += (u64)n;
	}
	kfree(words);
	return n;
}

const struct file_ops proc_text_ops = {
	.open = proc_open, .read = proc_read, .write = proc_write, .seek = seek_endless, .release = proc_release,
};

struct filesystem *procfs_new(const char *source)
{
	return proc_filesystem_new("proc", source, PROC_MAGIC, &proc_root_node);
}

struct filesystem *proc_filesystem_new(const char *type, const char *source, u32 magic, struct proc_node *root)
{
	struct filesystem *fs = filesystem_new(type, source, magic);
	struct inode *inode;
	struct proc_item *item;

	if (!fs)
		return NULL;
	inode = inode_new(fs, S_IFDIR | 0555, 0);
	item = kzalloc(sizeof(*item));
	if (inode && item) {
		item->kind = PROC_NODE;
		item->node = root;
		inode->data = item;
		inode->ops = &proc_ops;
		inode->fops = &proc_dir_ops;
		inode->nlink = 2;
		fs->root = dentry_new(NULL, "", 0, inode);
	} else {
		kfree(item);
	}
	inode_put(inode);
	if (!fs->root) {
		filesystem_free(fs);
		return NULL;
	}
	return fs;
}
