/* The forms of exception entry, bound by policy `entry`. */
#ifndef ARCH_ENTRY_H
#define ARCH_ENTRY_H
#include <types.h>

#define LEAN_CALLS 512u         /* call numbers below it use the lean entry; none is larger */

extern u64 lean_frames_completed;       /* lean entries that saved all registers later, for a signal or switch */

void entry_bind(bool lean);
/* Installs the vector of external interrupts; with one processor it may prefetch the lines of its frame. */
void external_bind(bool preload);
/* Whether short messages pass at the gate (gate.S). Only while the entry is lean. */
void entry_bind_messages(bool on);
/* Whether entries prefetch the lines of their frame, and switches those of the next task. */
void entry_preload(bool on);
void switch_preload_bind(bool on);

#endif
