/* Descriptor tables. */
#include <err.h>
#include <file.h>
#include <kmalloc.h>
#include <lib.h>
#include <process.h>
#include <task.h>
#include <uaccess.h>
#include <window.h>

#define FIRST_SIZE 32u  /* slots; a power of two, as every size */

static struct files *with_size(u32 size)
{
	struct files *files = kzalloc(sizeof(*files));

	if (!files)
		return NULL;
	files->refs = 1;
	list_init(&files->locks);
	files->size = size;
	files->slot = kzalloc(size * sizeof(*files->slot));
	files->cloexec = kzalloc(size / 8);
	if (!files->slot || !files->cloexec) {
		kfree(files->slot);
		kfree(files->cloexec);
		kfree(files);
		return NULL;
	}
	return files;
}

struct files *files_new(void)
{
	return with_size(FIRST_SIZE);
}

struct files *files_dup(struct files *from)
{
	struct files *files = with_size(from->size);

	if (!files)
		return NULL;
	files->next_free = from->next_free;
	memcpy(files->cloexec, from->cloexec, from->size / 8);
	for_each_window(i, 0, i < from->size) {
		if (from->slot[i])
			files->slot[i] = file_get(from->slot[i]);
	}
	return files;
}

/* Closes a file of a descriptor: releases the process's record locks on the inode, and the reference. */
static void close_file(struct files *files, struct file *file)
{
	locks_release_descriptor(files, file->inode);
	file_put(file);
}

void files_put(struct files *files)
{
	if (!files)
		return;
	if (files->refs == 1)
		locks_release_table(files);
	if (--files->refs)
		return;
	for_each_window(i, 0, i < files->size) {
		/* The end of a socket takes longer than a step. */
		if (files->slot[i]) {
			close_file(files, files->slot[i]);
			interrupt_window();
		}
	}
	kfree(files->slot);
	kfree(files->cloexec);
	kfree(files);
}

int files_unshare(void)
{
	struct files *files, *old;

	if (current->files->refs == 1)
		return 0;
	files = files_dup(current->files);
	if (!files)
		return -ENOMEM;
	/* Dropping the last reference may let other tasks run: they must not find the table any more. */
	old = current->files;
	current->files = files;
	files_put(old);
	return 0;
}

static bool is_cloexec(const struct files *files, u32 fd)
{
	return files->cloexec[fd / 32] >> (fd % 32) & 1;
}

static void set_cloexec(struct files *files, u32 fd, bool on)
{
	u32 bit = 1u << (fd % 32);

	if (on)
		files->cloexec[fd / 32] |= bit;
	else
		files->cloexec[fd / 32] &= ~bit;
}

static struct file *fd_take(struct files *files, u32 fd)
{
	struct file *file = files->slot[fd];

	files->slot[fd] = NULL;
	set_cloexec(files, fd, false);
	if (fd < files->next_free)
		files->next_free = fd;
	return file;
}

void close_on_exec(struct files *files)
{
	for (u32 word = 0; word < files->size / 32; word++)
		while (files->cloexec[word]) {
			close_file(files, fd_take(files, word * 32 + (u32)__builtin_ctz(files->cloexec[word])));
			interrupt_window();
		}
}

struct file *fd_get(int fd)
{
	return fd_get_from(current->files, fd);
}

struct file *fd_get_of(int fd, const struct file_ops *ops, int otherwise)
{
	struct file *file = fd_get(fd);

	if (!file)
		return ERR_PTR(-EBADF);
	if (file->ops != ops) {
		/* Only calls on names accept an O_PATH file. */
		if (file->flags & O_PATH)
			otherwise = -EBADF;
		file_put(file);
		return ERR_PTR(otherwise);
	}
	return file;
}

static int make_room(struct files *files, u32 size)
{
	u32 wanted = files->size;
	struct file **slot;
	u32 *cloexec;

	while (wanted < size)
		wanted *= 2;
	if (wanted == files->size)
		return 0;
	slot = kzalloc(wanted * sizeof(*slot));
	cloexec = kzalloc(wanted / 8);
	if (!slot || !cloexec) {
		kfree(slot);
		kfree(cloexec);
		return -ENOMEM;
	}
	for_each_piece_long(i, files->size, FIRST_SIZE)
		memcpy(slot + i, files->slot + i, FIRST_SIZE * sizeof(*slot));
	memcpy(cloexec, files->cloexec, files->size / 8);
	kfree(files->slot);
	kfree(files->cloexec);
	files->slot = slot;
	files->cloexec = cloexec;
	files->size = wanted;
	return 0;
}

int fd_reserve(unsigned from)
{
	struct files *files = current->files;
	u32 limit = rlimit(RLIMIT_NOFILE);
	u32 fd = MAX(from, files->next_free);
	int error;

	while (fd < files->size && files->slot[fd])
		interrupt_window_at(++fd);
	if (fd >= limit || fd >= FILES_MAX)
		return -EMFILE;
	error = make_room(files, fd + 1);
	if (error)
		return error;
	if (from <= files->next_free)
		files->next_free = fd;
	return (int)fd;
}

void fd_install(int fd, struct file *file, bool cloexec)
{
	struct files *files = current->files;

	files->slot[fd] = file;
	set_cloexec(files, (u32)fd, cloexec);
	if (files->next_free == (u32)fd)
		files->next_free++;
}

int fd_add(struct file *file, bool cloexec)
{
	int fd;

	if (IS_ERR(file))
		return (int)PTR_ERR(file);
	fd = fd_reserve(0);
	if (fd >= 0)
		fd_install(fd, file, cloexec);
	else
		file_put(file);
	return fd;
}

void fd_take_back(int fd, const struct file *file)
{
	struct files *files = current->files;

	if ((u32)fd < files->size && files->slot[fd] == file)
		fd_close(fd);
}

long fd_add_pair(struct file *first, struct file *second, bool cloexec, s32 *user)
{
	struct file *file[2] = { first, second };
	s32 fd[2];
	long result = 0;

	/* The references keep the files' identity while the copy sleeps. */
	for (int i = 0; i < 2; i++) {
		if (!IS_ERR(file[i]))
			file_get(file[i]);
		fd[i] = fd_add(file[i], cloexec);
	}
	if (fd[0] < 0 || fd[1] < 0)
		result = MIN(fd[0], fd[1]);
	else if (copy_to_user(user, fd, sizeof(fd)))
		result = -EFAULT;
	for (int i = 0; i < 2; i++) {
		if (result && fd[i] >= 0)
			fd_take_back(fd[i], file[i]);
		if (!IS_ERR(file[i]))
			file_put(file[i]);
	}
	return result;
}

/* Installs the file at a number that may be in use (dup2). The table takes over the reference on success. */
int fd_replace(int fd, struct file *file, bool cloexec)
{
	struct files *files = current->files;
	struct file *old;
	int error;

	if ((u32)fd >= rlimit(RLIMIT_NOFILE) || (u32)fd >= FILES_MAX)
		return -EBADF;
	error = make_room(files, (u32)fd + 1);
	if (error)
		return error;
	old = files->slot[fd];
	fd_install(fd, file, cloexec);
	if (old)
		close_file(files, old);
	return fd;
}

int fd_close(int fd)
{
	struct files *files = current->files;

	if ((u32)fd >= files->size || !files->slot[fd])
		return -EBADF;
	close_file(files, fd_take(files, (u32)fd));
	return 0;
}

bool fd_names(int fd, const struct file *file)
{
	const struct files *files = current->files;

	return (u32)fd < files->size && files->slot[fd] == file;
}

int fd_cloexec(int fd)
{
	return is_cloexec(current->files, (u32)fd);
}

void fd_set_cloexec(int fd, bool on)
{
	set_cloexec(current->files, (u32)fd, on);
}
