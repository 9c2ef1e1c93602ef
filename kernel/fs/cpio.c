/*
 * The initramfs: a cpio archive in the "newc" format (cpio(5)). An entry is a header of 110 ASCII characters, the name
 * with its NUL, and the data, each padded to four bytes; the entry TRAILER!!! ends the archive. Hard links share an
 * inode number, and the last of them has the data.
 */
#include <arch.h>
#include <err.h>
#include <frame.h>
#include <kmalloc.h>
#include <lib.h>

#include "internal.h"

#define HEADER_SIZE 110u
#define PIECE 0x10000u  /* bytes of a file's data after which the archive's frames are freed */

enum field {
	INO, MODE, UID, GID, NLINK, MTIME, FILESIZE, MAJOR_DEV, MINOR_DEV, RMAJOR, RMINOR, NAMESIZE, CHECK, FIELDS,
};

struct entry {
	u32 offset;             /* offset of the header, for messages */
	u32 field[FIELDS];
	const char *name;
	const u8 *data;
};

/* An inode with several names, remembered for the entries that name it again. */
struct seen {
	struct seen *next;
	u32 ino, dev;
	struct inode *inode;
};

static int bad_entry(u32 offset, const char *reason)
{
	console_printf("initramfs: offset %u: %s\n", offset, reason);
	return -EINVAL;
}

static int parse_hex8(const u8 *p, u32 *value)
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

/* Parses the entry at `offset`; *next is the offset of the following one. */
static int cpio_parse(const u8 *archive, u32 size, u32 offset, struct entry *entry, u32 *next)
{
	u64 name_at = (u64)offset + HEADER_SIZE, data_at, end;

	entry->offset = offset;
	if (name_at > size)
		return bad_entry(offset, "the archive ends within a header (TRAILER!!! is missing)");
	if (memcmp(archive + offset, "070701", 6) && memcmp(archive + offset, "070702", 6))
		return bad_entry(offset, "not a cpio \"newc\" header (070701 or 070702 expected)");
	for (unsigned i = 0; i < FIELDS; i++)
		if (parse_hex8(archive + offset + 6 + i * 8, &entry->field[i]))
			return bad_entry(offset, "a header field is not a hexadecimal number");
	if (entry->field[NAMESIZE] == 0 || entry->field[NAMESIZE] > PATH_MAX)
		return bad_entry(offset, "the name's length is 0 or more than 4096");
	data_at = ALIGN_UP(name_at + entry->field[NAMESIZE], 4ull);
	end = ALIGN_UP(data_at + entry->field[FILESIZE], 4ull);
	if (data_at + entry->field[FILESIZE] > size)
		return bad_entry(offset, "the archive ends within an entry's name or data");
	entry->name = (const char *)archive + name_at;
	if (entry->name[entry->field[NAMESIZE] - 1] || strlen(entry->name) != entry->field[NAMESIZE] - 1)
		return bad_entry(offset, "the name does not end where its length says");
	entry->data = archive + data_at;
	*next = (u32)MIN(end, (u64)size);
	return 0;
}

/* The directory of the entry's name, created if missing; *last is the final component. */
static int directory_of(const struct entry *entry, struct dentry **dir, const char **last, size_t *len)
{
	struct dentry *at = root_filesystem->root;
	const char *p = entry->name;

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
			return bad_entry(entry->offset, "a name leads above the root (\"..\")");
		if (end - p > NAME_MAX)
			return bad_entry(entry->offset, "a name has a component of more than 255 characters");
		if (!*end) {
			*dir = at;
			*last = p;
			*len = (size_t)(end - p);
			return 0;
		}
		d = dentry_find(at, p, (size_t)(end - p));
		if (!d) {
			if (make_directory(at, p, (size_t)(end - p), 0755, NULL))
				return bad_entry(entry->offset, "no memory for a directory");
			d = dentry_find(at, p, (size_t)(end - p));
		}
		if (!S_ISDIR(d->inode->mode))
			return bad_entry(entry->offset, "a name leads through something that is not a directory");
		at = d;
		p = end;
	}
}

static void set_attributes(struct inode *inode, const struct entry *entry)
{
	inode->mode = (inode->mode & S_IFMT) | (entry->field[MODE] & 07777);
	inode->uid = entry->field[UID];
	inode->gid = entry->field[GID];
	inode->atime = inode->mtime = inode->ctime = (struct file_time){ .sec = entry->field[MTIME] };
}

static struct seen *find_seen(struct seen *list, const struct entry *entry)
{
	u32 dev = MKDEV(entry->field[MAJOR_DEV], entry->field[MINOR_DEV]);

	for (; list; list = list->next)
		if (list->ino == entry->field[INO] && list->dev == dev)
			return list;
	return NULL;
}

static int remember_link(struct seen **list, const struct entry *entry, struct inode *inode)
{
	struct seen *s = kmalloc(sizeof(*s));

	if (!s)
		return bad_entry(entry->offset, "no memory for the table of hard links");
	s->ino = entry->field[INO];
	s->dev = MKDEV(entry->field[MAJOR_DEV], entry->field[MINOR_DEV]);
	s->inode = inode_get(inode);
	s->next = *list;
	*list = s;
	return 0;
}

/*
 * Frees the frames of the archive before `end`, so that the files need not fit beside the archive. Names and data
 * before it are gone.
 */
static void read_up_to(const void *end)
{
	paddr_t to = ALIGN_DOWN(kva_pa(end), PAGE_SIZE);

	if (to > boot.initrd_start)
		frames_release(boot.initrd_start, to);
	boot.initrd_start = MAX(boot.initrd_start, to);
}

static int write_data(struct inode *inode, const struct entry *entry)
{
	u32 size = entry->field[FILESIZE];

	for (u32 at = 0; at < size; at += PIECE) {
		u32 n = MIN(size - at, PIECE);

		if (inode_write_kernel(inode, entry->data + at, n, at) < 0)
			return bad_entry(entry->offset, "no memory for a file's data");
		read_up_to(entry->data + at + n);
	}
	return 0;
}

static int unpack_link(struct dentry *dir, const char *name, size_t len, const struct entry *entry)
{
	u32 size = entry->field[FILESIZE];
	char *text;
	int error;

	if (size == 0 || size >= PATH_MAX)
		return bad_entry(entry->offset, "a symbolic link's text is empty or too long");
	text = kmalloc(size + 1);
	if (!text)
		return bad_entry(entry->offset, "no memory for a symbolic link");
	memcpy(text, entry->data, size);
	text[size] = 0;
	error = make_link_text(dir, name, len, text, NULL);
	kfree(text);
	return error ? bad_entry(entry->offset, "no memory for a symbolic link") : 0;
}

static int unpack_new(struct dentry *dir, const char *name, size_t len, const struct entry *entry, struct seen **links)
{
	u32 mode = entry->field[MODE];
	struct dentry *dentry;
	int error;

	if (S_ISLNK(mode)) {
		error = unpack_link(dir, name, len, entry);
		if (error)
			return error;
		set_attributes(dentry_find(dir, name, len)->inode, entry);
		return 0;
	}
	if (S_ISDIR(mode))
		error = make_directory(dir, name, len, mode & 07777, &dentry);
	else
		error = inode_make(dir, name, len, mode & (S_IFMT | 07777),
				   MKDEV(entry->field[RMAJOR], entry->field[RMINOR]), &dentry);
	if (error)
		return bad_entry(entry->offset, "no memory for an inode");
	if (S_ISREG(mode)) {
		if (entry->field[NLINK] > 1)
			error = remember_link(links, entry, dentry->inode);
		if (!error)
			error = write_data(dentry->inode, entry);
	}
	set_attributes(dentry->inode, entry);
	dentry_put(dentry);
	return error;
}

static int unpack_entry(const struct entry *entry, struct seen **links)
{
	u32 mode = entry->field[MODE];
	struct dentry *dir, *old;
	struct seen *shared;
	const char *name;
	size_t len;
	int error = directory_of(entry, &dir, &name, &len);

	if (error)
		return error;
	if (!S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode) && !S_ISCHR(mode) && !S_ISBLK(mode) && !S_ISFIFO(mode) &&
	    !S_ISSOCK(mode))
		return bad_entry(entry->offset, "the mode names no known file type");
	if (len == 0 || (len == 1 && name[0] == '.')) {
		if (!S_ISDIR(mode))
			return bad_entry(entry->offset, "the root is not a directory");
		set_attributes(dir->inode, entry);
		return 0;
	}
	old = dentry_find(dir, name, len);
	if (old && S_ISDIR(old->inode->mode) && S_ISDIR(mode)) {
		set_attributes(old->inode, entry);
		return 0;
	}
	if (old)
		return bad_entry(entry->offset, "a name occurs twice");
	shared = S_ISREG(mode) && entry->field[NLINK] > 1 ? find_seen(*links, entry) : NULL;
	if (!shared)
		return unpack_new(dir, name, len, entry, links);
	if (dir->inode->ops->link(dir, name, len, shared->inode, NULL))
		return bad_entry(entry->offset, "no memory for a name");
	shared->inode->nlink++;
	error = write_data(shared->inode, entry);
	set_attributes(shared->inode, entry);
	return error;
}

int initramfs_unpack(void)
{
	const u8 *archive = pa_kva(boot.initrd_start);
	u32 size = boot.initrd_end - boot.initrd_start;
	struct seen *links = NULL;
	struct entry e;
	u32 offset = 0, next;
	int error = 0;

	while (!error) {
		error = cpio_parse(archive, size, offset, &e, &next);
		if (error || !strcmp(e.name, "TRAILER!!!"))
			break;
		error = unpack_entry(&e, &links);
		offset = next;
		read_up_to(archive + offset);
	}
	while (links) {
		struct seen *s = links;

		links = s->next;
		inode_put(s->inode);
		kfree(s);
	}
	frames_release(boot.initrd_start, boot.initrd_end);
	return error;
}
