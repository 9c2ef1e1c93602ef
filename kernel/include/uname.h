/* What uname(2) tells. */
#ifndef UNAME_H
#define UNAME_H

#include <abi/system.h>

extern struct utsname uts;

#endif
