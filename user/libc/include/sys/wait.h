#ifndef PAGEWALK_SYS_WAIT_H
#define PAGEWALK_SYS_WAIT_H

#include <sys/types.h>

#define WTERMSIG(status)    ((status) & 0x7f)
#define WIFEXITED(status)   (WTERMSIG(status) == 0)
#define WEXITSTATUS(status) ((status) >> 8 & 0xff)

pid_t waitpid(pid_t pid, int *status, int flags);

#endif
