#ifndef PAGEWALK_SYS_TYPES_H
#define PAGEWALK_SYS_TYPES_H

#include <stddef.h>

typedef int pid_t;
typedef int ssize_t;
typedef long off_t;
typedef long time_t;
typedef unsigned int mode_t;

#endif
