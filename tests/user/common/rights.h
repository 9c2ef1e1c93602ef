/* Shared by the tests and the attacks that send files and credentials over Unix sockets. */
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
/* Sends until `bytes` bytes wait in the socket or it has no room. */
void fill_socket(int socket, size_t bytes);
/* Sends a byte with descriptors, without waiting; returns the result of sendmsg. */
ssize_t send_files(int socket, const int *files, size_t count);
/* Makes a socket pair whose queue holds another pair, and so on, `depth` deep. Closing the outermost pair closes
 * all. */
void nest_sockets(int type, int depth);

/* Sends a byte with the sender's credentials; returns the result of sendmsg. */
ssize_t send_cred(int socket, pid_t pid, uid_t uid, gid_t gid);
/* Receives bytes and the sender's credentials (pid -1 if none came); returns the result of recvmsg. */
int receive_cred(int socket, char *data, size_t size, struct ucred *cred);

#endif
