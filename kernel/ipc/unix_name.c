/* Names of Unix sockets: a path, an abstract name, or none (unix(7)). */
#include <abi/socket.h>
#include <arch.h>
#include <err.h>
#include <filesystem.h>
#include <lib.h>
#include <signal.h>
#include <task.h>
#include <window.h>

#include "unix.h"

/* Sockets with abstract names. */
#define BUCKETS 256u
static struct list_head name_buckets[BUCKETS];

static bool is_abstract(const struct address *address)
{
	return address->bytes[PATH_OFFSET] == 0;
}

static int check_address(const struct address *address)
{
	if (address->len < PATH_OFFSET || address->family != AF_UNIX || address->len > PATH_OFFSET + UNIX_PATH_MAX)
		return -EINVAL;
	return 0;
}

/* The path, NUL-terminated. */
static void path_of(const struct address *address, char path[UNIX_PATH_MAX + 1])
{
	size_t len = address->len - PATH_OFFSET;

	memcpy(path, address->bytes + PATH_OFFSET, len);
	path[len] = 0;
}

/* FNV-1a. */
static struct list_head *name_bucket(const struct address *address)
{
	struct list_head *head;
	u32 hash = 2166136261u;

	for (u32 i = PATH_OFFSET; i < address->len; i++)
		hash = (hash ^ address->bytes[i]) * 16777619u;
	head = &name_buckets[(hash ^ hash >> 16) % BUCKETS];
	if (!head->next)
		list_init(head);
	return head;
}

static struct unix_socket *find_abstract(const struct address *address, u16 type)
{
	struct unix_socket *endpoint;

	list_for_each_window(endpoint, name_bucket(address), link) {
		if (endpoint->socket->type == type && endpoint->name.len == address->len &&
		    !memcmp(endpoint->name.bytes, address->bytes, address->len))
			return endpoint;
	}
	return NULL;
}

static void name_abstract(struct unix_socket *endpoint, const struct address *address)
{
	endpoint->name = *address;
	list_add(&endpoint->link, name_bucket(address));
}

static int find_path(const struct address *address, u16 type, struct unix_socket **out)
{
	char path[UNIX_PATH_MAX + 1];
	struct dentry *dentry;
	int error;

	path_of(address, path);
	error = path_lookup(AT_FDCWD, path, WALK_FOLLOW, &dentry);
	if (error)
		return error;
	error = inode_permission(dentry->inode, MAY_WRITE);
	if (!error && (!S_ISSOCK(dentry->inode->mode) || !dentry->inode->data))
		error = -ECONNREFUSED;
	if (!error) {
		*out = dentry->inode->data;
		if ((*out)->socket->type != type)
			error = -EPROTOTYPE;
	}
	dentry_put(dentry);
	return error;
}

int unix_find(const struct address *address, u16 type, struct unix_socket **out)
{
	int error = check_address(address);

	if (error)
		return error;
	if (address->len == PATH_OFFSET)
		return -EINVAL;
	if (!is_abstract(address))
		return find_path(address, type, out);
	*out = find_abstract(address, type);
	return *out ? 0 : -ECONNREFUSED;
}

static long bind_path(struct unix_socket *endpoint, const struct address *address)
{
	char path[UNIX_PATH_MAX + 1];
	struct walk w;
	struct dentry *dentry;
	int error;

	path_of(address, path);
	error = walk_parent(&w, AT_FDCWD, path);
	/* Another thread may have named the socket meanwhile. */
	if (!error && endpoint->name.len > PATH_OFFSET)
		error = -EINVAL;
	if (!error) {
		dentry = walk_last(&w);
		if (!IS_ERR(dentry)) {
			dentry_put(dentry);
			error = -EADDRINUSE;
		} else if (PTR_ERR(dentry) != -ENOENT || w.slash) {
			error = (int)PTR_ERR(dentry);
		} else {
			error = inode_make(w.dir, w.last, w.len, S_IFSOCK | (0777 & ~current->fs->umask), 0, &dentry);
			if (!error) {
				dentry->inode->data = endpoint;
				endpoint->path = dentry;
			}
		}
	}
	walk_done(&w);
	return error;
}

/* An abstract name of the kernel's choice: NUL and five hexadecimal digits. */
static long bind_any(struct unix_socket *endpoint)
{
	static u32 next;
	struct address a = { .len = PATH_OFFSET + 6 };

	a.family = AF_UNIX;
	for (u32 tries = 0; tries < 0x100000; tries++) {
		char digits[6];

		snprintf(digits, sizeof(digits), "%05x", next++ & 0xfffff);
		a.bytes[PATH_OFFSET] = 0;
		memcpy(a.bytes + PATH_OFFSET + 1, digits, 5);
		/* Many names may be in use, and another thread may name the socket meanwhile. */
		preemption_point();
		if (signal_fatal_pending())
			return -EINTR;
		if (endpoint->name.len > PATH_OFFSET)
			return 0;
		if (find_abstract(&a, endpoint->socket->type))
			continue;
		name_abstract(endpoint, &a);
		return 0;
	}
	return -ENOSPC;
}

long unix_name_for_credentials(struct socket *socket)
{
	struct unix_socket *endpoint = unix_of(socket);

	return socket_option(socket, SO_PASSCRED) && endpoint->name.len == PATH_OFFSET ? bind_any(endpoint) : 0;
}

long unix_bind(struct socket *socket, const struct address *address)
{
	struct unix_socket *endpoint = unix_of(socket);
	long error = check_address(address);

	if (error)
		return error;
	if (endpoint->name.len > PATH_OFFSET)
		return -EINVAL;
	if (address->len == PATH_OFFSET)
		return bind_any(endpoint);
	if (is_abstract(address)) {
		if (find_abstract(address, socket->type))
			return -EADDRINUSE;
		name_abstract(endpoint, address);
	} else {
		char path[UNIX_PATH_MAX + 1];

		error = bind_path(endpoint, address);
		if (error)
			return error;
		path_of(address, path);
		endpoint->name = *address;
		endpoint->name.len = PATH_OFFSET + (u32)strlen(path) + 1;       /* with its NUL, as Linux reports it */
	}
	return 0;
}

long unix_name(struct socket *socket, struct address *address, enum socket_name which)
{
	const struct unix_socket *endpoint = unix_of(socket);

	if (which == OWN_NAME) {
		*address = endpoint->name;
		return 0;
	}
	if (!unix_connected(socket))
		return -ENOTCONN;
	*address = socket->type == SOCK_DGRAM ? endpoint->peer->name : endpoint->peer_name;
	return 0;
}
