#ifndef PAGEWALK_FCNTL_H
#define PAGEWALK_FCNTL_H

#include <sys/types.h>

#define O_RDONLY  0
#define O_WRONLY  1
#define O_RDWR    2
#define O_CREAT   0100
#define O_TRUNC   01000
/* Linux before 2.6.23 ignores it, as it ignores every flag that it does not know. */
#define O_CLOEXEC 02000000

int open(const char *path, int flags, ...);

#endif
