/* Where the code lies that signal handlers return to. Frames of signals are the architecture's, which has none. */
#ifndef ABI_UCONTEXT_H
#define ABI_UCONTEXT_H

#define TRAMPOLINE_ADDRESS 0x00100000u

#endif
