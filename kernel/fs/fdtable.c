/* Descriptor tables. */
#include <file.h>

#include <err.h>
#include <ipc.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#define FIRST_SIZE 32u	/* slots; a power of two, as every size */

static struct files *with_size(u32 size)
{
	struct files *t = kzalloc(sizeof *t);

	if (!t)
		return NULL;
	t->refs = 1;
	t->size = size;
	t->slot = kzalloc(size * sizeof *t->slot);
	t->cloexec = kzalloc(size / 8);
	if (!t->slot || !t->cloexec) {
		kfree(t->slot);
		kfree(t->cloexec);
		kfree(t);
		return NULL;
	}
	return t;
}

struct files *files_new(void)
{
	return with_size(FIRST_SIZE);
}

struct files *files_dup(struct files *from)
{
	struct files *t = with_size(from->size);

	if (!t)
		return NULL;
	t->next_free = from->next_free;
	memcpy(t->cloexec, from->cloexec, from->size / 8);
	for (u32 i = 0; i < from->size; i++) {
		interrupt_window_at(i);
		if (from->slot[i])
			t->slot[i] = file_get(from->slot[i]);
	}
	return t;
}

/* What closing a descriptor does besides dropping the reference: the process's record locks on the inode go. */
static void let_go(struct files *t, struct file *f)
{
	if (!list_empty(&f->inode->locks))
		locks_release_owner(f->inode, t);
	file_put(f);
}

void files_put(struct files *t)
{
	bool delayed;

	if (!t || --t->refs)
		return;
	delayed = rights_delay();
	for (u32 i = 0; i < t->size; i++) {
		interrupt_window_at(i);
		if (t->slot[i])
			let_go(t, t->slot[i]);
	}
	rights_continue(delayed);
	kfree(t->slot);
	kfree(t->cloexec);
	kfree(t);
}

int files_unshare(void)
{
	struct files *t;

	if (current->files->refs == 1)
		return 0;
	t = files_dup(current->files);
	if (!t)
		return -ENOMEM;
	files_put(current->files);
	current->files = t;
	return 0;
}

static bool is_cloexec(const struct files *t, u32 fd)
{
	return t->cloexec[fd / 32] >> (fd % 32) & 1;
}

static void set_cloexec(struct files *t, u32 fd, bool on)
{
	u32 bit = 1u << (fd % 32);

	if (on)
		t->cloexec[fd / 32] |= bit;
	else
		t->cloexec[fd / 32] &= ~bit;
}

static struct file *fd_take(struct files *t, u32 fd)
{
	struct file *f = t->slot[fd];

	t->slot[fd] = NULL;
	set_cloexec(t, fd, false);
	if (fd < t->next_free)
		t->next_free = fd;
	return f;
}

void close_on_exec(struct files *t)
{
	for (u32 word = 0; word < t->size / 32; word++)
		while (t->cloexec[word])
			let_go(t, fd_take(t, word * 32 + (u32)__builtin_ctz(t->cloexec[word])));
}

struct file *fd_get(int fd)
{
	const struct files *t = current->files;
	struct file *f;

	if ((u32)fd >= t->size)
		return NULL;
	f = t->slot[fd];
	if (f)
		f->refs++;
	return f;
}

struct file *fd_get_of(int fd, const struct file_ops *ops, int otherwise)
{
	struct file *f = fd_get(fd);

	if (!f)
		return ERR_PTR(-EBADF);
	if (f->ops != ops) {
		/* A place in the tree is no file to any call but those about names. */
		if (f->flags & O_PATH)
			otherwise = -EBADF;
		file_put(f);
		return ERR_PTR(otherwise);
	}
	return f;
}

static int make_room(struct files *t, u32 size)
{
	u32 wanted = t->size;
	struct file **slot;
	u32 *cloexec;

	while (wanted < size)
		wanted *= 2;
	if (wanted == t->size)
		return 0;
	slot = kzalloc(wanted * sizeof *slot);
	cloexec = kzalloc(wanted / 8);
	if (!slot || !cloexec) {
		kfree(slot);
		kfree(cloexec);
		return -ENOMEM;
	}
	memcpy(slot, t->slot, t->size * sizeof *slot);
	memcpy(cloexec, t->cloexec, t->size / 8);
	kfree(t->slot);
	kfree(t->cloexec);
	t->slot = slot;
	t->cloexec = cloexec;
	t->size = wanted;
	return 0;
}

int fd_reserve(unsigned from)
{
	struct files *t = current->files;
	u32 limit = rlimit(RLIMIT_NOFILE);
	u32 fd = MAX(from, t->next_free);
	int error;

	while (fd < t->size && t->slot[fd])
		fd++;
	if (fd >= limit || fd >= FILES_MAX)
		return -EMFILE;
	error = make_room(t, fd + 1);
	if (error)
		return error;
	if (from <= t->next_free)
		t->next_free = fd;
	return (int)fd;
}

void fd_install(int fd, struct file *f, bool cloexec)
{
	struct files *t = current->files;

	t->slot[fd] = f;
	set_cloexec(t, (u32)fd, cloexec);
	if (t->next_free == (u32)fd)
		t->next_free++;
}

int fd_add(struct file *f, bool cloexec)
{
	int fd;

	if (IS_ERR(f))
		return (int)PTR_ERR(f);
	fd = fd_reserve(0);
	if (fd >= 0)
		fd_install(fd, f, cloexec);
	else
		file_put(f);
	return fd;
}

long fd_add_pair(struct file *first, struct file *second, bool cloexec, s32 *user)
{
	s32 fd[2] = { fd_add(first, cloexec), fd_add(second, cloexec) };
	long result = fd[0] < 0 ? fd[0] : fd[1] < 0 ? fd[1] : copy_to_user(user, fd, sizeof fd) ? -EFAULT : 0;

	for (int i = 0; result && i < 2; i++)
		if (fd[i] >= 0)
			fd_close(fd[i]);
	return result;
}

/* Puts the file where another may be open: dup2. The table takes over the reference on success. */
int fd_replace(int fd, struct file *f, bool cloexec)
{
	struct files *t = current->files;
	struct file *old;
	int error;

	if ((u32)fd >= rlimit(RLIMIT_NOFILE) || (u32)fd >= FILES_MAX)
		return -EBADF;
	error = make_room(t, (u32)fd + 1);
	if (error)
		return error;
	old = t->slot[fd];
	fd_install(fd, f, cloexec);
	if (old)
		let_go(t, old);
	return fd;
}

int fd_close(int fd)
{
	struct files *t = current->files;

	if ((u32)fd >= t->size || !t->slot[fd])
		return -EBADF;
	let_go(t, fd_take(t, (u32)fd));
	return 0;
}

int fd_cloexec(int fd)
{
	return is_cloexec(current->files, (u32)fd);
}

void fd_set_cloexec(int fd, bool on)
{
	set_cloexec(current->files, (u32)fd, on);
}
