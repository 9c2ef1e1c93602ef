/* What the boot loader and the command line have said. */
#include <arch.h>

struct boot boot = { .init = "/init" };
