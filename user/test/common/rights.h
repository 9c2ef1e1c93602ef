/* What the tests and the attacks share that send files and credentials over Unix sockets. */
#ifndef PAGEWALK_TEST_RIGHTS_H
#define PAGEWALK_TEST_RIGHTS_H

#include <stddef.h>
#include <sys/socket.h>
#include <sys/types.h>

#define SOCKET_TYPES 3
extern const int socket_types[SOCKET_TYPES];
#define EACH_TYPE(t) \
	for (size_t t##_ = 0; t##_ < SOCKET_TYPES; t##_++) \
		for (int t = socket_types[t##_], once = 1; once; once = 0)

void socket_pair(int type, int ends[2]);
/* Sends until so many bytes wait, or there is no room for more. */
void fill_socket(int socket, size_t bytes);
/* Sends a byte with descriptors, without waiting; what sendmsg returns. */
ssize_t send_files(int socket, const int *files, size_t count);
/* A pair of sockets, with the pair before in its queue, and so on: closing the last closes them all. */
void nest_sockets(int type, int depth);

/* Sends a byte that says who it comes from; what sendmsg returns. */
ssize_t send_cred(int socket, pid_t pid, uid_t uid, gid_t gid);
/* Receives bytes and who they came from: pid -1 if nothing was said. What recvmsg returns. */
int receive_cred(int socket, char *data, size_t size, struct ucred *cred);

#endif
