/* /proc: inodes are created when a name is looked up, text when a file is read. */
#include "proc_internal.h"

#include <err.h>
#include <filesystem.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <procfs.h>
#include <task.h>

#define PROC_MAGIC 0x9fa0u
#define STORE_MAX 4096u	/* bytes of one write to a file of /proc */

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
	struct proc_node *n;

	list_for_each_entry(n, &dir->children, link)
		if (n->len == len && !memcmp(n->name, name, len))
			return n;
	return NULL;
}

static struct proc_node *add_node(struct proc_node *dir, const char *name, size_t len)
{
	struct proc_node *n = kzalloc(sizeof(*n));

	if (!n)
		panic("no memory for /proc/%s", name);
	n->name = name;
	n->len = len;
	n->ino = next_ino++;
	list_init(&n->children);
	list_add_tail(&n->link, &dir->children);
	return n;
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
	struct proc_node *n = node_for(root, path);

	n->show = show;
	n->store = store;
}

void proc_file(const char *path, void (*show)(struct text *), int (*store)(const char *, size_t))
{
	proc_file_below(&proc_root_node, path, show, store);
}

void proc_link(const char *path, const char *target)
{
	node_for(&proc_root_node, path)->target = target;
}

static void proc_free(struct inode *i)
{
	kfree(i->data);
}

static struct task *item_task(const struct proc_item *item)
{
	struct process *p;

	if (item->thread)
		return task_find(item->pid);
	p = process_find(item->pid);
	return p ? p->leader : NULL;
}

static long proc_readlink(struct inode *i, char *buffer, size_t size)
{
	const struct proc_item *item = i->data;
	struct dentry *d;
	char *path;
	size_t len;

	if (item->kind == PROC_SELF)
		return snprintf(buffer, size, item->thread ? "%d/task/%d" : "%d", current->tgid, current->pid);
	if (item->kind == PROC_NODE) {
		len = MIN(size, strlen(item->node->target));
		memcpy(buffer, item->node->target, len);
		return (long)len;
	}
	d = i->ops->follow(i);
	if (IS_ERR(d))
		return PTR_ERR(d);
	path = dentry_path(d, buffer, size);
	if (!IS_ERR(path)) {
		len = strlen(path);
		memmove(buffer, path, len);
	}
	dentry_put(d);
	return IS_ERR(path) ? PTR_ERR(path) : (long)len;
}

static struct dentry *proc_follow(struct inode *i)
{
	const struct proc_item *item = i->data;
	struct task *t = item_task(item);
	struct dentry *d;
	int error;

	if (!t)
		return ERR_PTR(-ENOENT);
	if (!may_trace(t))
		return ERR_PTR(-EACCES);
	if (item->kind == PROC_FD) {
		const struct files *files = t->files;

		if (!files || (u32)item->fd >= files->size || !files->slot[item->fd])
			return ERR_PTR(-ENOENT);
		return dentry_get(files->slot[item->fd]->dentry);
	}
	error = item->entry->link(t, &d);
	return error ? ERR_PTR(error) : d;
}

static const struct inode_ops proc_ops = { .lookup = proc_lookup, .readlink = proc_readlink, .free = proc_free };
/* Links to a file itself, whatever its name is now. */
static const struct inode_ops proc_magic_ops = { .readlink = proc_readlink, .follow = proc_follow, .free = proc_free };

struct dentry *proc_dentry(struct dentry *dir, const char *name, size_t len, const struct proc_item *from, u32 mode,
			   u64 ino)
{
	struct proc_item *item = kmalloc(sizeof(*item));
	struct inode *i = item ? inode_new(dir->inode->fs, mode, 0) : NULL;
	struct dentry *d = NULL;

	if (!i) {
		kfree(item);
		return ERR_PTR(-ENOMEM);
	}
	*item = *from;
	i->data = item;
	i->ino = ino;
	i->uid = i->gid = 0;
	i->ops = S_ISLNK(mode) && (item->kind == PROC_FD || item->kind == PROC_ENTRY) ? &proc_magic_ops : &proc_ops;
	i->fops = S_ISDIR(mode) ? &proc_dir_ops : &proc_text_ops;
	if (S_ISDIR(mode))
		i->nlink = 2;
	if (item->kind != PROC_NODE && item->kind != PROC_SELF) {
		const struct task *t = item_task(item);

		i->uid = t ? t->cred.euid : 0;
		i->gid = t ? t->cred.egid : 0;
	}
	d = dentry_new(dir, name, len, i);
	inode_put(i);
	return d ? d : ERR_PTR(-ENOMEM);
}

static struct dentry *node_dentry(struct dentry *dir, const struct proc_node *n)
{
	struct proc_item item = { .kind = PROC_NODE, .node = n };
	u32 mode = n->directory ? S_IFDIR | 0555 :
		   n->target	? S_IFLNK | 0777 :
				  S_IFREG | (n->show ? 0444u : 0) | (n->store ? 0200u : 0);

	return proc_dentry(dir, n->name, n->len, &item, mode, n->ino);
}

struct dentry *proc_lookup_node(struct dentry *dir, const struct proc_node *parent, const char *name, size_t len)
{
	const struct proc_node *n = find_node(parent, name, len);

	return n ? node_dentry(dir, n) : ERR_PTR(-ENOENT);
}

static int show_open_file(const struct task *task, int fd, struct text *t)
{
	const struct files *files = task->files;
	const struct file *f = files && (u32)fd < files->size ? files->slot[fd] : NULL;
	bool cloexec;

	if (!f)
		return -ENOENT;
	cloexec = files->cloexec[fd / 32] >> (fd % 32) & 1;
	text_printf(t, "pos:\t%llu\nflags:\t0%o\nmnt_id:\t%u\nino:\t%llu\n", f->position,
		    f->flags | (cloexec ? O_CLOEXEC : 0), MINOR(inode_dev(f->inode)), f->inode->ino);
	if (f->ops->show)
		f->ops->show(f, t);
	return 0;
}

static int make_text(const struct proc_item *item, struct text *t)
{
	struct task *task;
	int error = 0;

	if (item->kind == PROC_NODE) {
		if (!item->node->show)
			return -EINVAL;
		item->node->show(t);
	} else {
		task = item_task(item);
		if (!task)
			return -ESRCH;
		if (item->kind == PROC_INFO)
			error = show_open_file(task, item->fd, t);
		else
			item->entry->show(t, task);
	}
	return t->no_memory ? -ENOMEM : error;
}

/* The text of an open file. A copy to a program may sleep, so the text is kept until the last copy is done. */
struct shown {
	u32 users;	/* the open file, and copies under way */
	struct text text;
};

static void shown_put(struct shown *s)
{
	if (!s || --s->users)
		return;
	kfree(s->text.buffer);
	kfree(s);
}

static void proc_release(struct file *f)
{
	shown_put(f->data);
}

static int show_anew(struct file *f)
{
	struct shown *s = kzalloc(sizeof(*s));
	int error;

	if (!s)
		return -ENOMEM;
	s->users = 1;
	error = make_text(f->inode->data, &s->text);
	if (error) {
		shown_put(s);
		return error;
	}
	shown_put(f->data);
	f->data = s;
	return 0;
}

/* Generates the text at the first read, and again at a read from the start. */
static long proc_read(struct file *f, struct iter *it, u64 *position)
{
	u64 at = *position;
	struct shown *s;
	long n;

	if (!f->data || at == 0) {
		n = show_anew(f);
		if (n)
			return n;
	}
	s = f->data;
	if (at >= s->text.len)
		return 0;
	s->users++;
	n = iter_write(it, s->text.buffer + at, s->text.len - (size_t)at);
	shown_put(s);
	if (n > 0)
		*position = at + (u64)n;
	return n;
}

static long proc_write(struct file *f, struct iter *it, u64 *position)
{
	const struct proc_item *item = f->inode->data;
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
			struct task *t = item_task(item);

			error = t ? item->entry->store(t, words, (size_t)n) : -ESRCH;
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
	.read = proc_read, .write = proc_write, .seek = seek_endless, .release = proc_release,
};

struct filesystem *procfs_new(const char *source)
{
	return proc_filesystem_new("proc", source, PROC_MAGIC, &proc_root_node);
}

struct filesystem *proc_filesystem_new(const char *type, const char *source, u32 magic, struct proc_node *root)
{
	struct filesystem *fs = filesystem_new(type, source, magic);
	struct inode *i;
	struct proc_item *item;

	if (!fs)
		return NULL;
	i = inode_new(fs, S_IFDIR | 0555, 0);
	item = kzalloc(sizeof(*item));
	if (i && item) {
		item->kind = PROC_NODE;
		item->node = root;
		i->data = item;
		i->ops = &proc_ops;
		i->fops = &proc_dir_ops;
		i->nlink = 2;
		fs->root = dentry_new(NULL, "", 0, i);
	} else {
		kfree(item);
	}
	inode_put(i);
	if (!fs->root) {
		filesystem_free(fs);
		return NULL;
	}
	return fs;
}
