/* The address of the code to which signal handlers return. The stub architecture has no signal frames. */
#ifndef ABI_UCONTEXT_H
#define ABI_UCONTEXT_H

#define TRAMPOLINE_ADDRESS 0x00100000u

#endif
