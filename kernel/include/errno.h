/* Error numbers: the ABI's, and the kernel's own. */
#ifndef ERRNO_H
#define ERRNO_H
#include <abi/errno.h>

/* Inside the kernel only: a signal interrupted the call, which may be restarted. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

#endif
