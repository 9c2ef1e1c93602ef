/* Names of Unix sockets: a path, an abstract name, or none (unix(7)). */
#include "unix.h"

#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <filesystem.h>
#include <lib.h>
#include <signal.h>
#include <task.h>
#include <window.h>

/* Sockets with abstract names. */
#define BUCKETS 256u
static struct list_head buckets[BUCKETS];

static bool is_abstract(const struct address *a)
{
	return a->bytes[PATH_OFFSET] == 0;
}

static int check_address(const struct address *a)
{
	if (a->len < PATH_OFFSET || a->family != AF_UNIX || a->len > PATH_OFFSET + UNIX_PATH_MAX)
		return -EINVAL;
	return 0;
}

/* The path, NUL-terminated. */
static void path_of(const struct address *a, char path[UNIX_PATH_MAX + 1])
{
	size_t len = a->len - PATH_OFFSET;

	memcpy(path, a->bytes + PATH_OFFSET, len);
	path[len] = 0;
}

/* FNV-1a. */
static struct list_head *bucket(const struct address *a)
{
	struct list_head *head;
	u32 hash = 2166136261u;

	for (u32 i = PATH_OFFSET; i < a->len; i++)
		hash = (hash ^ a->bytes[i]) * 16777619u;
	head = &buckets[(hash ^ hash >> 16) % BUCKETS];
	if (!head->next)
		list_init(head);
	return head;
}

static struct unix_socket *find_abstract(const struct address *a, u16 type)
{
	struct unix_socket *u;
	u32 looked_at = 0;

	list_for_each_entry(u, bucket(a), link) {
		interrupt_window_at(++looked_at);
		if (u->socket->type == type && u->name.len == a->len && !memcmp(u->name.bytes, a->bytes, a->len))
			return u;
	}
	return NULL;
}

static void name_abstract(struct unix_socket *u, const struct address *a)
{
	u->name = *a;
	list_add(&u->link, bucket(a));
}

static int find_path(const struct address *a, u16 type, struct unix_socket **out)
{
	char path[UNIX_PATH_MAX + 1];
	struct dentry *d;
	int error;

	path_of(a, path);
	error = path_lookup(AT_FDCWD, path, WALK_FOLLOW, &d);
	if (error)
		return error;
	error = inode_permission(d->inode, MAY_WRITE);
	if (!error && (!S_ISSOCK(d->inode->mode) || !d->inode->data))
		error = -ECONNREFUSED;
	if (!error) {
		*out = d->inode->data;
		if ((*out)->socket->type != type)
			error = -EPROTOTYPE;
	}
	dentry_put(d);
	return error;
}

int unix_find(const struct address *a, u16 type, struct unix_socket **out)
{
	int error = check_address(a);

	if (error)
		return error;
	if (a->len == PATH_OFFSET)
		return -EINVAL;
	if (!is_abstract(a))
		return find_path(a, type, out);
	*out = find_abstract(a, type);
	return *out ? 0 : -ECONNREFUSED;
}

static long bind_path(struct unix_socket *u, const struct address *a)
{
	char path[UNIX_PATH_MAX + 1];
	struct walk w;
	struct dentry *d;
	int error;

	path_of(a, path);
	error = walk_parent(&w, AT_FDCWD, path);
	if (!error) {
		d = walk_last(&w);
		if (!IS_ERR(d)) {
			dentry_put(d);
			error = -EADDRINUSE;
		} else if (PTR_ERR(d) != -ENOENT || w.slash) {
			error = (int)PTR_ERR(d);
		} else {
			error = inode_make(w.dir, w.last, w.len, S_IFSOCK | (0777 & ~current->fs->umask), 0, &d);
			if (!error) {
				d->inode->data = u;
				u->inode = inode_get(d->inode);
				dentry_put(d);
			}
		}
	}
	walk_done(&w);
	return error;
}

/* An abstract name of the kernel's choice: NUL and five hexadecimal digits. */
static long bind_any(struct unix_socket *u)
{
	static u32 next;
	struct address a = { .len = PATH_OFFSET + 6 };

	a.family = AF_UNIX;
	for (u32 tries = 0; tries < 0x100000; tries++) {
		char digits[6];

		snprintf(digits, sizeof digits, "%05x", next++ & 0xfffff);
		a.bytes[PATH_OFFSET] = 0;
		memcpy(a.bytes + PATH_OFFSET + 1, digits, 5);
		/* Many names may be in use, and another thread may name the socket meanwhile. */
		preemption_point();
		if (signal_fatal_pending())
			return -EINTR;
		if (u->name.len > PATH_OFFSET)
			return 0;
		if (find_abstract(&a, u->socket->type))
			continue;
		name_abstract(u, &a);
		return 0;
	}
	return -ENOSPC;
}

long unix_name_for_credentials(struct socket *s)
{
	struct unix_socket *u = unix_of(s);

	return socket_option(s, SO_PASSCRED) && u->name.len == PATH_OFFSET ? bind_any(u) : 0;
}

long unix_bind(struct socket *s, const struct address *a)
{
	struct unix_socket *u = unix_of(s);
	long error = check_address(a);

	if (error)
		return error;
	if (u->name.len > PATH_OFFSET)
		return -EINVAL;
	if (a->len == PATH_OFFSET)
		return bind_any(u);
	if (is_abstract(a)) {
		if (find_abstract(a, s->type))
			return -EADDRINUSE;
		name_abstract(u, a);
	} else {
		char path[UNIX_PATH_MAX + 1];

		error = bind_path(u, a);
		if (error)
			return error;
		path_of(a, path);
		u->name = *a;
		u->name.len = PATH_OFFSET + (u32)strlen(path) + 1;	/* with its NUL, as Linux reports it */
	}
	return 0;
}

long unix_name(struct socket *s, struct address *a, bool peer)
{
	struct unix_socket *u = unix_of(s);

	if (!peer) {
		*a = u->name;
		return 0;
	}
	if (!s->connection && !u->peer)
		return -ENOTCONN;
	*a = s->type == SOCK_DGRAM ? u->peer->name : u->peer_name;
	return 0;
}
