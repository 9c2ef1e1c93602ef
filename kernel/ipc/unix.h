/* Shared by the files of Unix sockets. */
#ifndef UNIX_H
#define UNIX_H
#include "datagram.h"

struct dentry;

#define PATH_OFFSET 2u          /* of sun_path in struct sockaddr_un */

struct unix_socket {
	struct list_head link;          /* in the list of sockets with abstract names */
	struct socket *socket;
	struct address name;
	struct dentry *path;            /* that is the socket's name; referenced, so that its file system stays */
	struct address peer_name;       /* stream and packets, connected */
	bool was_connected;             /* packets: also after the peer has gone */
	struct datagram_queue queue;    /* datagram and packets */
	struct unix_socket *peer;       /* datagram and packets, connected */
	bool peer_gone;                 /* the peer was closed: the next send reports that */
	struct list_head senders;       /* sockets whose peer is this one, by sender_link */
	struct list_head sender_link;
};

static inline struct unix_socket *unix_of(const struct socket *s)
{
	return s->data;
}

static inline bool unix_connected(const struct socket *s)
{
	return s->connection || unix_of(s)->peer || unix_of(s)->was_connected;
}

/* ipc/unix.c */
struct socket *unix_new(u16 type);      /* NULL: no memory */
long unix_listen(struct socket *, u32 backlog);
long unix_connectable(const struct socket *);   /* 0, -EINVAL (listening), -EISCONN */
/* Finds the listening socket of this type at an address: 0 or a negative errno. */
long unix_find_listener(const struct address *, u16 type, struct socket **);
/* Tells each end of a new connection its peer, and gives `embryo` to the listener. */
void unix_introduce(struct socket *, struct socket *embryo, struct socket *listener);
u32 unix_pages_held(const struct socket *);
void unix_release(struct socket *);

/* ipc/unix_name.c */
long unix_bind(struct socket *, const struct address *);
/* Gives a socket that passes credentials a name, so that its receivers can answer. */
long unix_name_for_credentials(struct socket *);
long unix_name(struct socket *, struct address *, enum socket_name);
/* Finds the socket of this type that an address names: 0 or a negative errno. */
int unix_find(const struct address *, u16 type, struct unix_socket **);

/* ipc/unix_datagram.c */
void unix_connect(struct unix_socket *, struct unix_socket *to);        /* to NULL: disconnects */
void unix_connect_both(struct unix_socket *, struct unix_socket *);
extern const struct socket_ops unix_datagram_ops, unix_packet_ops;

#endif
