/* The forms of exception entry, bound by policy `entry`. */
#ifndef ARCH_ENTRY_H
#define ARCH_ENTRY_H

#include <types.h>

#define LEAN_CALLS 512u         /* numbers that the lean entry looks up; no call has a larger one */

extern u64 lean_frames_completed;       /* lean entries that had to save the rest after all, for signals or a switch */

void entry_bind(bool lean);
/* Whether entries ask for the lines of their frame ahead, and switches for what the next task will need. */
void entry_preload(bool on);
void switch_preload_bind(bool on);

#endif
