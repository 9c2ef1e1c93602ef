/*
 * TCP within this machine. A connection is made at once if the listener's queue has a place, else when a place becomes
 * free; meanwhile the socket waits in the listener's list, as on a network it would send its request again. What a
 * program sees of it is what Linux shows: a non-blocking connect reports EINPROGRESS even if it is done, and a later
 * connect or SO_ERROR reports how it ended.
 */
#include <abi/socket.h>
#include <kmalloc.h>
#include <lib.h>
#include <task.h>
#include <window.h>

#include "inet.h"

#define RETRY_MOST 120u         /* s between two requests for a connection */

static bool has_place(const struct socket *listener)
{
	return listener->pending_count < listener->backlog;
}

/* The limit of a connect that waits for a place. */
struct patience {
	struct inet_socket *inet;
	struct timer timer;
	struct deferred work;
	u64 until;              /* ns since boot */
};

static void stop_asking(struct inet_socket *inet)
{
	list_del(&inet->waiting);
	inet->socket->asking = false;
	if (inet->patience) {
		timer_cancel(&inet->patience->timer);
		list_del(&inet->patience->work.link);
	}
}

u8 tcp_state(const struct socket *socket)
{
	const struct side *mine, *other;

	if (socket->listening)
		return TCP_LISTEN;
	if (socket->asking)
		return TCP_SYN_SENT;
	if (!socket->connection || stream_over(socket))
		return TCP_CLOSE;
	mine = &socket->connection->side[socket->end];
	other = &socket->connection->side[far_end(socket->connection, socket->end)];
	/* A shutdown before the connect has told nobody. */
	return mine->shut && mine->ended ? TCP_CLOSE_WAIT :
	       other->shut && other->ended ? TCP_FIN_WAIT2 : TCP_ESTABLISHED;
}

/* The smaller of two sizes; 0: none is given. */
static s32 agreed_segment(s32 a, s32 b)
{
	return !a ? b : !b ? a : MIN(a, b);
}

/* Makes the connection: -ENOMEM. */
static long tcp_establish(struct socket *socket, struct socket *listener)
{
	struct inet_socket *inet = inet_of(socket), *server = inet_of(listener), *other;
	struct socket *embryo = inet_new(IPPROTO_TCP);
	struct connection *connection = embryo ? connection_new() : NULL;

	if (!connection) {
		if (embryo)
			socket_release(embryo);
		return -ENOMEM;
	}
	other = inet_of(embryo);
	embryo->settings = listener->settings;
	embryo->poll_water = listener->poll_water;
	embryo->corked = listener->corked;
	memcpy(other->option, server->option, sizeof(other->option));
	other->reno = server->reno;
	other->segment = inet->segment = agreed_segment(inet_option(inet, MAXSEG), inet_option(server, MAXSEG));
	other->phase = CONNECTED;
	other->name = inet->peer;
	other->peer = inet->name;
	other->uid = server->uid;
	inet_add_accepted(other);
	connection_join(connection, socket, embryo);
	socket_enqueue(listener, embryo);
	return 0;
}

/* Both ends are this socket. */
static long tcp_establish_self(struct socket *socket)
{
	struct connection *connection = connection_new();

	if (!connection)
		return -ENOMEM;
	inet_of(socket)->segment = inet_option(inet_of(socket), MAXSEG);
	connection_join_self(connection, socket);
	return 0;
}

/* The connect fails with a positive errno. */
static void tcp_refuse(struct socket *socket, s32 error)
{
	socket->error = error;
	socket->shut = SHUT_RD | SHUT_WR;
	if (!inet_of(socket)->port_given)
		inet_unbind(inet_of(socket));
}

static void patience_ends(struct deferred *work)
{
	struct socket *socket = container_of(work, struct patience, work)->inet->socket;

	stop_asking(inet_of(socket));
	tcp_refuse(socket, ETIMEDOUT);
	socket_changed(socket);
}

static void patience_expires(struct timer *timer)
{
	note_work(&container_of(timer, struct patience, timer)->work, patience_ends);
}

/*
 * How long a connect waits for a place. On a network it sends its request again after 1 s, and then each time after
 * twice as long, up to 120 s; TCP_SYNCNT says how often. TCP_USER_TIMEOUT is looked at from the first time on.
 */
static u64 patience_ns(const struct inet_socket *inet)
{
	u64 seconds = 1, wait = 1, limit = (u64)inet_option(inet, USER_TIMEOUT) * NSEC_PER_MSEC;

	for (s32 sent = 0; sent < inet_option(inet, SYNCNT); sent++) {
		wait = MIN(2 * wait, RETRY_MOST);
		seconds += wait;
	}
	seconds *= NSEC_PER_SEC;
	return limit ? MIN(MAX(limit, NSEC_PER_SEC), seconds) : seconds;
}

/* Puts the socket in the list of those that wait for a place, if it is not there yet. 0 or -ENOMEM. */
static long tcp_wait(struct inet_socket *inet, struct inet_socket *listener)
{
	struct patience *patience = inet->patience;

	if (!patience) {
		patience = kzalloc(sizeof(*patience));
		if (!patience)
			return -ENOMEM;
		patience->inet = inet;
		timer_init(&patience->timer, patience_expires);
		list_init(&patience->work.link);
		inet->patience = patience;
	}
	if (!patience->until)
		patience->until = time_deadline(patience_ns(inet));
	timer_set(&patience->timer, patience->until);
	list_add_tail(&inet->waiting, &listener->callers);
	inet->socket->asking = true;
	return 0;
}

/* Asks the listener at the socket's peer for a connection: made, refused, or the socket waits; -ENOMEM. */
static long tcp_ask(struct socket *socket)
{
	struct inet_socket *inet = inet_of(socket), *listener;

	if (inet->peer.address == inet->name.address && inet->peer.port == inet->name.port)
		return tcp_establish_self(socket);
	listener = inet_receiver(IPPROTO_TCP, &inet->peer, &inet->name);
	if (!listener) {
		tcp_refuse(socket, ECONNREFUSED);
		return 0;
	}
	return has_place(listener->socket) ? tcp_establish(socket, listener->socket) : tcp_wait(inet, listener);
}

/* Lets a caller that waits for a place connect again: the listener may have a place, or be gone. False: it waits on. */
static bool ask_again(struct inet_socket *caller)
{
	struct socket *socket = caller->socket;

	stop_asking(caller);
	if (tcp_ask(socket))
		tcp_refuse(socket, ECONNREFUSED);       /* no memory */
	if (socket->asking)
		return false;
	socket_changed(socket);
	return true;
}

/* Lets connects that wait for a place into the listener's queue. */
static void tcp_admit(struct socket *listener)
{
	struct list_head *callers = &inet_of(listener)->callers;
	struct inet_socket *caller;

	list_until_empty_window(caller, callers, waiting)
		if (!has_place(listener) || !ask_again(caller))
			return;
}

/* The socket listens no more: who waits to be accepted gets a reset, who waits for a place another listener or none. */
static void stop_listening(struct socket *socket)
{
	struct inet_socket *caller;

	socket->listening = false;
	socket_drop_pending(socket);
	list_until_empty_meanwhile(caller, &inet_of(socket)->callers, waiting) {
		if (socket->listening)
			break;
		ask_again(caller);
	}
}

/* Ends whatever the socket was, at once: it can be bound, listen or connect anew. */
static void tcp_disconnect(struct socket *socket)
{
	struct inet_socket *inet = inet_of(socket);

	if (socket->listening) {
		stop_listening(socket);
	} else if (socket->asking) {
		stop_asking(inet);
		socket->error = ECONNRESET;
	} else if (socket->connection) {
		struct connection *connection = socket->connection;
		unsigned end = socket->end;

		if (!stream_over(socket))
			socket->error = ECONNRESET;
		connection->refs++;
		stream_leave(socket, true);
		stream_wake(connection, end);
		connection_put(connection);
	}
	socket->shut = 0;
	inet_forget_name(inet);
	socket_changed(socket);
}

static bool all_delivered(const struct socket *socket)
{
	return !stream_unsent(socket) || stream_over(socket);
}

void tcp_linger(struct socket *socket)
{
	const struct socket_settings *settings = &socket->settings;
	struct connection *connection = socket->connection;
	struct side *mine, *other;

	if (!connection || !settings->linger || !settings->linger_seconds || socket->aborted || current->ending)
		return;
	mine = &connection->side[socket->end];
	other = &connection->side[far_end(connection, socket->end)];
	if (side_shown(mine) || stream_over(socket))
		return;         /* unread data resets the connection */
	socket->file = NULL;    /* it is closed already */
	stream_shutdown(socket, SHUT_RD | SHUT_WR);
	(void)wait_event_until(&other->writable, all_delivered(socket),
			       time_deadline(settings->linger_seconds * NSEC_PER_SEC));
}

void tcp_leave(struct socket *socket)
{
	struct inet_socket *inet = inet_of(socket);
	const struct socket_settings *settings = &socket->settings;
	/* TCP_LINGER2 below 0: an end that its peer has not answered is not kept. */
	bool forgets = inet_option(inet, LINGER2) < 0 && tcp_state(socket) == TCP_FIN_WAIT2;

	stop_asking(inet);
	kfree(inet->patience);
	stop_listening(socket);
	stream_leave(socket, socket->aborted || forgets || (settings->linger && !settings->linger_seconds));
}

static long tcp_listen(struct socket *socket, u32 backlog)
{
	struct inet_socket *inet = inet_of(socket);
	int error;

	if (inet->phase != UNCONNECTED)
		return -EINVAL;
	error = inet_bind_any(inet);
	if (error)
		return error;
	if (!socket->listening) {
		socket->listening = true;
		if (inet_port_clashes(inet)) {
			socket->listening = false;
			return -EADDRINUSE;
		}
		socket->shut = 0;
		socket_changed(socket);
	}
	socket_listen(socket, backlog);
	tcp_admit(socket);
	return 0;
}

static long tcp_accept(struct socket *socket, bool nonblock, struct socket **out)
{
	long result = socket_accept(socket, nonblock, out);

	if (!result && !list_empty(&inet_of(socket)->callers))
		tcp_admit(socket);
	return result;
}

/* Begins a connect. */
static long tcp_begin(struct socket *socket, const struct address *address)
{
	struct inet_socket *inet = inet_of(socket);
	u32 shut = socket->shut;
	long error = inet_aim(socket, address);

	if (error)
		return error;
	error = inet_same_connection(inet) ? -EADDRNOTAVAIL : 0;
	if (!error) {
		socket->error = 0;
		if (inet->patience)
			inet->patience->until = 0;
		error = tcp_ask(socket);
	}
	if (error) {
		inet_forget_name(inet);
		return error;
	}
	inet->phase = CONNECTING;
	if (socket->connection)
		stream_shut_before(socket, shut);
	socket_changed(socket);
	return 0;
}

/* Waits until the connect has ended: 0, or `pending`, or -ERESTARTSYS. */
static long tcp_await(struct socket *socket, bool nonblock, long pending)
{
	u64 deadline = socket_deadline(socket->settings.send_timeout);
	long error = SOCKET_WAIT(&socket->accepting, !socket->asking, nonblock, deadline);

	return error == -EAGAIN ? pending : error;
}

static long tcp_connect(struct socket *socket, const struct address *address, bool nonblock)
{
	struct inet_socket *inet = inet_of(socket);
	long error = -EALREADY;

	if (address->len < sizeof(address->family))
		return -EINVAL;
	if (address->family == AF_UNSPEC) {
		tcp_disconnect(socket);
		inet->phase = UNCONNECTED;
		return 0;
	}
	if (inet->phase == CONNECTED || socket->listening)
		return -EISCONN;
	if (inet->phase == DISCONNECTING)
		return -EINVAL;
	if (inet->phase == UNCONNECTED) {
		error = tcp_begin(socket, address);
		if (error)
			return error;
		error = -EINPROGRESS;
		if (nonblock)
			return error;
	}
	error = tcp_await(socket, nonblock, error);
	if (error)
		return error;
	if (socket->connection && !stream_over(socket)) {
		inet->phase = CONNECTED;
		return 0;
	}
	error = socket_error(socket);
	tcp_disconnect(socket);
	inet->phase = UNCONNECTED;
	return error ? error : -ECONNABORTED;
}

/* Waits until a connect under way has ended, as a send or a receive does. */
static long tcp_await_connection(struct socket *socket, bool nonblock, u64 timeout)
{
	return SOCKET_WAIT(&socket->accepting, !socket->asking, nonblock, socket_deadline(timeout));
}

static long tcp_send(struct socket *socket, struct message *message)
{
	struct connection *connection;
	long n = 0;

	if (!socket->connection) {
		n = tcp_await_connection(socket, message->nonblock, socket->settings.send_timeout);
		if (!n && !socket->connection)
			n = socket_error(socket);
	}
	connection = socket->connection;
	if (n)
		return n;
	if (!connection)
		return socket_broken_pipe(message->flags);
	connection->refs++;     /* another thread may disconnect the socket */
	n = stream_send(socket, message);
	connection_put(connection);
	return n;
}

static long tcp_receive(struct socket *socket, struct message *message)
{
	struct connection *connection;
	long n = 0;

	if (!socket->connection && !socket->listening)
		n = tcp_await_connection(socket, message->nonblock, socket->settings.receive_timeout);
	if (n)
		return n;
	connection = socket->connection;
	if (!connection) {
		n = socket->listening ? 0 : socket_error(socket);
		return n ? n : socket->shut & SHUT_RD ? 0 : -ENOTCONN;
	}
	connection->refs++;
	n = stream_receive(socket, message);
	connection_put(connection);
	return n;
}

static long tcp_shutdown(struct socket *socket, unsigned how)
{
	struct inet_socket *inet = inet_of(socket);
	u8 state = tcp_state(socket);
	long error = 0;

	if (inet->phase == CONNECTING)
		inet->phase = state == TCP_CLOSE || state == TCP_SYN_SENT ? DISCONNECTING : CONNECTED;
	if (state == TCP_SYN_SENT || (state == TCP_LISTEN && how & SHUT_RD)) {
		tcp_disconnect(socket);
		inet->phase = UNCONNECTED;
	} else if (state == TCP_CLOSE) {
		socket->shut |= how;
		error = -ENOTCONN;
		if (socket->connection)
			stream_wake(socket->connection, socket->end);
	} else if (state != TCP_LISTEN) {
		stream_shutdown(socket, how);
	}
	wake_up(&socket->accepting);
	return error;
}

const struct socket_ops tcp_ops = {
	.bind = inet_bind, .connect = tcp_connect, .listen = tcp_listen, .accept = tcp_accept, .name = inet_name,
	.send = tcp_send, .receive = tcp_receive, .poll = stream_poll, .shutdown = tcp_shutdown,
	.readable_bytes = stream_bytes, .pages_held = inet_pages_held, .fit = stream_fit,
	.set_option = inet_set_option,
	.get_option = inet_get_option, .release = inet_release,
};
