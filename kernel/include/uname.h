/* The names that uname(2) returns. */
#ifndef UNAME_H
#define UNAME_H
#include <abi/system.h>

extern struct utsname uts;

#endif
