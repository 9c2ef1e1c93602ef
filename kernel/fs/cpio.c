/*
 * The initramfs: a cpio archive in the "newc" format (cpio(5)): a header of
 * 110 ASCII characters, the name with its NUL, the data, each padded to four
 * bytes; the entry TRAILER!!! ends it. Hard links share an inode number, and
 * the last of them carries the data.
 */
#include "internal.h"

#include <err.h>
#include <kmalloc.h>
#include <lib.h>

#define HEADER_SIZE 110u

enum field { INO, MODE, UID, GID, NLINK, MTIME, FILESIZE, MAJOR_DEV, MINOR_DEV, RMAJOR, RMINOR, NAMESIZE, CHECK, FIELDS };

struct entry {
	u32 offset;		/* of the header, for messages */
	u32 field[FIELDS];
	const char *name;
	const u8 *data;
};

/* Names of an inode that has several: where the next of them finds it. */
struct seen {
	struct seen *next;
	u32 ino, dev;
	struct inode *inode;
};

static int bad(u32 offset, const char *reason)
{
	console_printf("initramfs: offset %u: %s\n", offset, reason);
	return -EINVAL;
}

static int hex8(const u8 *p, u32 *value)
{
	*value = 0;
	for (int i = 0; i < 8; i++) {
		u8 c = p[i];
		u32 digit;

		if (c >= '0' && c <= '9')
			digit = c - (u32)'0';
		else if (c >= 'a' && c <= 'f')
			digit = c - (u32)'a' + 10;
		else if (c >= 'A' && c <= 'F')
			digit = c - (u32)'A' + 10;
		else
			return -EINVAL;
		*value = *value << 4 | digit;
	}
	return 0;
}

/* Parses the entry at `offset`; *next is where the following one starts. */
static int cpio_parse(const u8 *archive, u32 size, u32 offset, struct entry *e, u32 *next)
{
	u64 name_at = (u64)offset + HEADER_SIZE, data_at, end;

	e->offset = offset;
	if (name_at > size)
		return bad(offset, "the archive ends within a header (TRAILER!!! is missing)");
	if (memcmp(archive + offset, "070701", 6) && memcmp(archive + offset, "070702", 6))
		return bad(offset, "not a cpio \"newc\" header (070701 or 070702 expected)");
	for (unsigned i = 0; i < FIELDS; i++)
		if (hex8(archive + offset + 6 + i * 8, &e->field[i]))
			return bad(offset, "a header field is not a hexadecimal number");
	if (e->field[NAMESIZE] == 0 || e->field[NAMESIZE] > PATH_MAX)
		return bad(offset, "the name's length is 0 or more than 4096");
	data_at = ALIGN_UP(name_at + e->field[NAMESIZE], 4ull);
	end = ALIGN_UP(data_at + e->field[FILESIZE], 4ull);
	if (data_at + e->field[FILESIZE] > size)
		return bad(offset, "the archive ends within an entry's name or data");
	e->name = (const char *)archive + name_at;
	if (e->name[e->field[NAMESIZE] - 1] || strlen(e->name) != e->field[NAMESIZE] - 1)
		return bad(offset, "the name does not end where its length says");
	e->data = archive + data_at;
	*next = (u32)MIN(end, (u64)size);
	return 0;
}

/* The directory of the entry's name, made where it is missing; *last is the final component. */
static int directory_of(const struct entry *e, struct dentry **dir, const char **last, size_t *len)
{
	struct dentry *at = root_filesystem->root;
	const char *p = e->name;

	for (;;) {
		const char *end;
		struct dentry *d;

		while (*p == '/')
			p++;
		for (end = p; *end && *end != '/'; end++)
			;
		if ((end - p == 1 && p[0] == '.') && *end) {
			p = end;
			continue;
		}
		if (end - p == 2 && p[0] == '.' && p[1] == '.')
			return bad(e->offset, "a name leads above the root (\"..\")");
		if (end - p > NAME_MAX)
			return bad(e->offset, "a name has a component of more than 255 characters");
		if (!*end) {
			*dir = at;
			*last = p;
			*len = (size_t)(end - p);
			return 0;
		}
		d = dentry_find(at, p, (size_t)(end - p));
		if (!d) {
			if (make_directory(at, p, (size_t)(end - p), 0755, NULL))
				return bad(e->offset, "no memory for a directory");
			d = dentry_find(at, p, (size_t)(end - p));
		}
		if (!S_ISDIR(d->inode->mode))
			return bad(e->offset, "a name leads through something that is not a directory");
		at = d;
		p = end;
	}
}

static void set_attributes(struct inode *i, const struct entry *e)
{
	i->mode = (i->mode & S_IFMT) | (e->field[MODE] & 07777);
	i->uid = e->field[UID];
	i->gid = e->field[GID];
	i->atime = i->mtime = i->ctime = (struct file_time){ .sec = e->field[MTIME] };
}

static struct seen *find_seen(struct seen *list, const struct entry *e)
{
	u32 dev = MKDEV(e->field[MAJOR_DEV], e->field[MINOR_DEV]);

	for (; list; list = list->next)
		if (list->ino == e->field[INO] && list->dev == dev)
			return list;
	return NULL;
}

static int remember(struct seen **list, const struct entry *e, struct inode *i)
{
	struct seen *s = kmalloc(sizeof *s);

	if (!s)
		return bad(e->offset, "no memory for the table of hard links");
	s->ino = e->field[INO];
	s->dev = MKDEV(e->field[MAJOR_DEV], e->field[MINOR_DEV]);
	s->inode = inode_get(i);
	s->next = *list;
	*list = s;
	return 0;
}

static int write_data(struct inode *i, const struct entry *e)
{
	if (e->field[FILESIZE] && inode_write_kernel(i, e->data, e->field[FILESIZE], 0) < 0)
		return bad(e->offset, "no memory for a file's data");
	return 0;
}

static int unpack_link(struct dentry *dir, const char *name, size_t len, const struct entry *e)
{
	u32 size = e->field[FILESIZE];
	char *text;
	int error;

	if (size == 0 || size >= PATH_MAX)
		return bad(e->offset, "a symbolic link's text is empty or too long");
	text = kmalloc(size + 1);
	if (!text)
		return bad(e->offset, "no memory for a symbolic link");
	memcpy(text, e->data, size);
	text[size] = 0;
	error = make_link_text(dir, name, len, text, NULL);
	kfree(text);
	return error ? bad(e->offset, "no memory for a symbolic link") : 0;
}

static int unpack_new(struct dentry *dir, const char *name, size_t len, const struct entry *e, struct seen **links)
{
	u32 mode = e->field[MODE];
	struct dentry *d;
	int error;

	if (S_ISLNK(mode)) {
		error = unpack_link(dir, name, len, e);
		if (error)
			return error;
		set_attributes(dentry_find(dir, name, len)->inode, e);
		return 0;
	}
	if (S_ISDIR(mode))
		error = make_directory(dir, name, len, mode & 07777, &d);
	else
		error = inode_make(dir, name, len, mode & (S_IFMT | 07777), MKDEV(e->field[RMAJOR], e->field[RMINOR]), &d);
	if (error)
		return bad(e->offset, "no memory for an inode");
	if (S_ISREG(mode)) {
		if (e->field[NLINK] > 1)
			error = remember(links, e, d->inode);
		if (!error)
			error = write_data(d->inode, e);
	}
	set_attributes(d->inode, e);
	dentry_put(d);
	return error;
}

static int unpack(const struct entry *e, struct seen **links)
{
	u32 mode = e->field[MODE];
	struct dentry *dir, *old;
	struct seen *shared;
	const char *name;
	size_t len;
	int error = directory_of(e, &dir, &name, &len);

	if (error)
		return error;
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode) && !S_ISCHR(mode) && !S_ISBLK(mode) && !S_ISFIFO(mode) &&
	    !S_ISSOCK(mode))
		return bad(e->offset, "the mode names no known file type");
	if (len == 0 || (len == 1 && name[0] == '.')) {
		if (!S_ISDIR(mode))
			return bad(e->offset, "the root is not a directory");
		set_attributes(dir->inode, e);
		return 0;
	}
	old = dentry_find(dir, name, len);
	if (old && S_ISDIR(old->inode->mode) && S_ISDIR(mode)) {
		set_attributes(old->inode, e);
		return 0;
	}
	if (old)
		return bad(e->offset, "a name occurs twice");
	shared = S_ISREG(mode) && e->field[NLINK] > 1 ? find_seen(*links, e) : NULL;
	if (!shared)
		return unpack_new(dir, name, len, e, links);
	if (dentry_link(dir, name, len, shared->inode, NULL))
		return bad(e->offset, "no memory for a name");
	shared->inode->nlink++;
	error = write_data(shared->inode, e);
	set_attributes(shared->inode, e);
	return error;
}

int initramfs_unpack(const void *archive, size_t size)
{
	struct seen *links = NULL;
	struct entry e;
	u32 offset = 0, next;
	int error = 0;

	while (!error) {
		error = cpio_parse(archive, size, offset, &e, &next);
		if (error || !strcmp(e.name, "TRAILER!!!"))
			break;
		error = unpack(&e, &links);
		offset = next;
	}
	while (links) {
		struct seen *s = links;

		links = s->next;
		inode_put(s->inode);
		kfree(s);
	}
	return error;
}
