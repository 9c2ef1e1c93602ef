#ifndef PAGEWALK_ERRNO_H
#define PAGEWALK_ERRNO_H

#define ENOENT 2
#define EINTR  4
#define ENXIO  6
#define ECHILD 10
#define ENOMEM 12
#define EEXIST 17
#define EINVAL 22
#define ENOSPC 28
#define EPIPE  32
#define ENOSYS 38

extern int errno;

#endif
