#define _GNU_SOURCE
#include "rights.h"

#include <string.h>
#include <unistd.h>

#include "check.h"

const int socket_types[SOCKET_TYPES] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };

void socket_pair(int type, int ends[2])
{
	MUST(socketpair(AF_UNIX, type, 0, ends));
}

ssize_t send_files(int socket, const int *files, size_t count)
{
	char byte = 'x', control[CMSG_SPACE(253 * sizeof(int))];
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = CMSG_SPACE(count * sizeof(int)) };
	struct cmsghdr *header;

	memset(control, 0, sizeof(control));
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(count * sizeof(int));
	memcpy(CMSG_DATA(header), files, count * sizeof(int));
	return sendmsg(socket, &message, MSG_DONTWAIT);
}

void fill_socket(int socket, size_t bytes)
{
	static char block[4096];

	while (bytes) {
		ssize_t n = send(socket, block, bytes < sizeof(block) ? bytes : sizeof(block), MSG_DONTWAIT);

		if (n <= 0)
			return;
		bytes -= (size_t)n;
	}
}

void nest_sockets(int type, int depth)
{
	int ends[2], outer[2];

	socket_pair(type, ends);
	for (int i = 0; i < depth; i++) {
		socket_pair(type, outer);
		CHECK_EQUAL(send_files(outer[0], ends, 2), 1);
		close(ends[0]);
		close(ends[1]);
		memcpy(ends, outer, sizeof(ends));
	}
	close(ends[0]);
	close(ends[1]);
}

int receive_cred(int socket, char *data, size_t size, struct ucred *cred)
{
	char control[CMSG_SPACE(sizeof(*cred)) + CMSG_SPACE(4 * sizeof(int))];
	struct iovec piece = { data, size };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;
	ssize_t n = recvmsg(socket, &message, MSG_DONTWAIT);

	if (n < 0)
		return -1;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_CREDENTIALS) {
		CHECK_EQUAL(header->cmsg_len, CMSG_LEN(sizeof(*cred)));
		memcpy(cred, CMSG_DATA(header), sizeof(*cred));
	} else {
		memset(cred, 0, sizeof(*cred));
		cred->pid = -1;
	}
	return (int)n;
}

ssize_t send_cred(int socket, pid_t pid, uid_t uid, gid_t gid)
{
	char byte = 'c', control[CMSG_SPACE(sizeof(struct ucred))];
	struct ucred cred = { pid, uid, gid };
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control,
				  .msg_controllen = sizeof(control) };
	struct cmsghdr *header;

	memset(control, 0, sizeof(control));
	header = CMSG_FIRSTHDR(&message);
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_CREDENTIALS;
	header->cmsg_len = CMSG_LEN(sizeof(cred));
	memcpy(CMSG_DATA(header), &cred, sizeof(cred));
	return sendmsg(socket, &message, 0);
}
